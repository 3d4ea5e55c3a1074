import { mkdtemp, readdir, readFile, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { PackageIndex } from "../../test/support/package-index.ts";
import { removeTree } from "../lib/files/remove-tree.ts";
import type { PackageTarget } from "./package-target.ts";
import { type PrepareOptions, preparePackages } from "./prepare-packages.ts";

const target: PackageTarget = { python: "3.11", implementation: "cp", platform: "linux_x86_64", glibc: [2, 36] };
const nowMs = Date.parse("2026-06-01T00:00:00Z");
let cacheDir = "";
let index: PackageIndex;
beforeEach(async () => {
  cacheDir = await mkdtemp(join(tmpdir(), "codecell-packages-"));
  index = await PackageIndex.start();
});
afterEach(async () => {
  await index[Symbol.asyncDispose]();
  await removeTree(cacheDir);
});

type Changes = Partial<Omit<PrepareOptions, "rules">> & { rules?: Partial<PrepareOptions["rules"]> };
function prepare(requirements: string | readonly string[], { rules, ...changes }: Changes = {}) {
  const requests = [requirements].flat().map((requirement) => ({ requirement, from: "--with" }));
  return preparePackages(requests, {
    rules: { index: [index.url], allow: ["*"], deny: [], hashes: false, minAgeMs: 0, ...rules },
    ...{ target, cacheDir, nowMs, environment: {} },
    ...changes,
  });
}
const names = (packages: readonly { name: string; version: string }[]) =>
  packages.map(({ name, version }) => `${name} ${version}`);

describe("preparing packages", () => {
  test("a wheel is downloaded, checked and unpacked into a read-only tree", async () => {
    const sha256 = index.add({ name: "Good.Name", version: "1.2" });
    const prepared = await prepare("good_name");
    expect(prepared.packages).toEqual([
      {
        name: "good-name",
        version: "1.2",
        sha256,
        index: `${index.origin}/simple/`,
        wheel: "Good_Name-1.2-py3-none-any.whl",
      },
    ]);
    expect(await readFile(join(prepared.directory, "good_name", "__init__.py"), "utf8")).toBe('version = "1.2"\n');
    expect((await stat(join(prepared.directory, "good_name", "__init__.py"))).mode & 0o777).toBe(0o444);
    expect((await stat(join(prepared.directory, "good_name"))).mode & 0o777).toBe(0o555);
    expect((await readdir(join(cacheDir, "sets"))).sort()).toEqual([prepared.key]);
  });

  test("a second start with the same requirements asks no index", async () => {
    index.add({ name: "good", version: "1.2" });
    const first = await prepare("good");
    index.forget();
    const second = await prepare("good");
    expect(second).toEqual({ ...first, fromCache: true });
    expect(index.requests).toEqual([]);
  });

  test("dependencies, their extras and conditions are followed", async () => {
    index.add({ name: "app", version: "1", requires: ["lib[fast]>=2", 'winonly; sys_platform == "win32"'] });
    index.add({
      name: "lib",
      version: "2.1",
      extras: ["fast"],
      requires: ['speedups; extra == "fast"', 'slow; extra == "slow"'],
    });
    index.add({ name: "lib", version: "1.9" });
    index.add({ name: "speedups", version: "0.1" });
    expect(names((await prepare("app")).packages)).toEqual(["app 1", "lib 2.1", "speedups 0.1"]);
  });
});
