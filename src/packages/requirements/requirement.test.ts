import { describe, expect, test } from "vitest";
import { debianTarget } from "../../../test/support/packages/package-lab.ts";
import { markerHolds, parseMarker } from "./marker.ts";
import { markerEnvironment } from "./marker-environment.ts";
import { parseRequirement } from "./requirement.ts";

describe("a requirement", () => {
  test("is a name, extras, versions and a condition, in any spelling that pip accepts", () => {
    const parsed = parseRequirement('Foo.Bar_baz [B, a_x] (>=1.0, <2) ; os_name == "posix"', "--with");
    expect(parsed).toMatchObject({ name: "foo-bar-baz", extras: ["a-x", "b"], range: { text: ">=1.0,<2" } });
    expect(parsed.marker).toMatchObject({ kind: "compare", operator: "==" });
    expect(parseRequirement("a", "x")).toEqual({
      name: "a",
      extras: [],
      range: { text: "", clauses: [] },
      marker: undefined,
    });
  });

  test.each([
    ["", "does not start with a package name"],
    ["é", "does not start with a package name"],
    ["a.", "does not start with a package name"],
    ["a b", "is not a range of versions"],
    ["a==", "is not a range of versions"],
    ["a=1", "is not a range of versions"],
    ["a[b", "its extras are not names"],
    ["a[../x]", "its extras are not names"],
    ["a; os_name", "is not a condition"],
    ['a; home == "x"', "is not a condition"],
    ["-r other.txt", "it is an option"],
    ["--index-url=https://packages.example", "it is an option"],
    ["git+https://packages.example/x", "only packages of an index"],
    ["a @ https://packages.example/a.whl", "only packages of an index"],
    ["./a.whl", "only packages of an index"],
    ["/tmp/a.whl", "only packages of an index"],
    ["a\u0000", "control characters"],
    ["a\n--pre", "control characters"],
    ["a".repeat(5000), "longer than 4096"],
  ])("%j is refused with the reason, and with who wrote it", (text, why) => {
    expect(() => parseRequirement(text, "kernel.packages")).toThrow(
      expect.objectContaining({ code: "usage", message: expect.stringContaining(why) }),
    );
    expect(() => parseRequirement(text, "kernel.packages")).toThrow("(kernel.packages)");
  });
});

describe("a condition", () => {
  const environment = markerEnvironment(debianTarget);
  const holds = (text: string, extras: string[] = []) => {
    const marker = parseMarker(text);
    return marker && markerHolds(marker, environment, extras);
  };

  test.each([
    'python_version >= "3.9" and python_version < "3.12"',
    '"3.8" < python_version',
    'python_version in "3.10 3.11"',
    'python_full_version == "3.11.2"',
    'sys_platform == "linux" and (os_name == "nt" or platform_machine == "x86_64")',
    'platform_machine not in "arm64 aarch64"',
    "platform_python_implementation == 'CPython'",
    'os_name == "nt" and os_name == "nt" or os_name == "posix"',
  ])("%s holds in the cell", (text) => {
    expect(holds(text)).toBe(true);
  });

  test.each(['python_version < "3.9"', 'sys_platform == "darwin"', 'python_version == "3.1"', 'extra == "test"'])(
    "%s does not hold",
    (text) => {
      expect(holds(text)).toBe(false);
    },
  );

  test("an extra holds if it is asked for, in any spelling", () => {
    expect(holds('extra == "Dev_Tools"', ["dev-tools", "x"])).toBe(true);
    expect(holds('extra == "dev"', ["test"])).toBe(false);
  });

  test.each([
    "",
    "os_name",
    "os_name ==",
    '"a" == "b"',
    "os_name == posix",
    "(os_name == 'x'",
    "os_name == 'x' and",
    "a".repeat(9),
  ])("%j is none", (text) => {
    expect(parseMarker(text)).toBeUndefined();
  });

  test("parentheses are counted, not followed for ever", () => {
    expect(parseMarker(`${"(".repeat(10_000)}os_name == "x"`)).toBeUndefined();
  });

  test("Pyodide is a platform of its own", () => {
    const wasm = markerEnvironment({ python: "3.14", implementation: "cp", platform: "pyodide_2026_0_wasm32" });
    expect(wasm).toMatchObject({
      sys_platform: "emscripten",
      platform_machine: "wasm32",
      python_full_version: "3.14.0",
    });
  });
});

test.each([
  ["pandas=2.2", "write it as in pandas==2.2"],
  ["pandas@2.2", "write the version as in pandas==2.2"],
  ["pandas,requests", "name one package each: --with pandas --with requests, or a line each in a file"],
])("the hint for %s says how to write it", (text, hint) => {
  expect(() => parseRequirement(text, "--with")).toThrow(expect.objectContaining({ code: "usage", hint }));
});
