import { describe, expect, test } from "vitest";
import { debianTarget } from "../../../test/support/packages/package-lab.ts";
import { parseWheelName } from "./wheel-name.ts";
import { supportedTags, tagRank } from "./wheel-tags.ts";

describe("the name of a wheel", () => {
  test("gives the package, the version, the build and every tag", () => {
    expect(parseWheelName("Foo.Bar_x-1.0_1-2b-py2.py3-none-any.whl")).toEqual({
      ...{ name: "foo-bar-x", version: "1.0-1", build: 2 },
      tags: ["py2-none-any", "py3-none-any"],
    });
    expect(parseWheelName("a-1!2.0rc1+local-cp311-cp311-linux_x86_64.whl")).toMatchObject({
      version: "1!2.0rc1+local",
    });
  });

  test.each([
    ...[
      "a-1-py3-none.whl",
      "a-1-py3-none-any.zip",
      "a-x-py3-none-any.whl",
      "-1-py3-none-any.whl",
      "a-1-1-2-py3-none-any.whl",
    ],
    ...["a/b-1-py3-none-any.whl", "../a-1-py3-none-any.whl", "a-1-b-py3-none-any.whl", "a-1-py3..py2-none-any.whl", ""],
    ...[`a-1-${"p.".repeat(60)}p-${"n.".repeat(60)}n-any.whl`, `${"a".repeat(600)}-1-py3-none-any.whl`],
  ])("%j is none", (name) => {
    expect(parseWheelName(name)).toBeUndefined();
  });
});

describe("tags", () => {
  const rankOf = (tag: string, target = debianTarget) =>
    tagRank(parseWheelName(`a-1-${tag}.whl`)?.tags ?? [], supportedTags(target));

  test("more specific tags have a better rank", () => {
    const ranks = [
      ...["cp311-cp311-manylinux_2_36_x86_64", "cp311-cp311-manylinux_2_17_x86_64", "cp311-cp311-manylinux1_x86_64"],
      ...["cp311-cp311-linux_x86_64", "cp311-abi3-manylinux_2_17_x86_64", "cp39-abi3-manylinux2014_x86_64"],
      ...["py3-none-manylinux_2_17_x86_64", "py3-none-any", "py38-none-any"],
    ].map((tag) => rankOf(tag) ?? Number.NaN);
    expect(ranks).toEqual([...ranks].sort((a, b) => a - b));
  });

  test.each([
    ...["cp312-cp312-manylinux_2_17_x86_64", "cp311-cp311-manylinux_2_37_x86_64", "cp311-cp311-manylinux_2_17_aarch64"],
    ...["cp311-cp311-musllinux_1_2_x86_64", "cp312-abi3-manylinux_2_17_x86_64", "cp311-cp311t-manylinux_2_17_x86_64"],
    ...["py2-none-any", "pp311-pypy311_pp73-manylinux_2_17_x86_64", "cp311-cp311-win_amd64", "py312-none-any"],
    "cp310-cp310-manylinux_2_17_x86_64",
  ])("%s is not for CPython 3.11 on Debian 12", (tag) => {
    expect(rankOf(tag)).toBeUndefined();
  });

  test("musl and Pyodide have tags of their own", () => {
    const alpine = { python: "3.12", implementation: "cp", platform: "linux_aarch64", musl: [1, 2] } as const;
    expect(rankOf("cp312-cp312-musllinux_1_1_aarch64", alpine)).toBeDefined();
    expect(rankOf("cp312-cp312-manylinux_2_17_aarch64", alpine)).toBeUndefined();
    const wasm = { python: "3.14", implementation: "cp", platform: "pyodide_2026_0_wasm32" } as const;
    expect(rankOf("cp314-cp314-pyodide_2026_0_wasm32", wasm)).toBeDefined();
    expect(rankOf("cp39-abi3-pyemscripten_2026_0_wasm32", wasm)).toBeDefined();
    expect(rankOf("cp314-cp314-pyodide_2025_0_wasm32", wasm)).toBeUndefined();
    expect(rankOf("py3-none-any", wasm)).toBeDefined();
  });
});
