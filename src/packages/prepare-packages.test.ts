import { readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { PackageLab } from "../../test/support/packages/package-lab.ts";
import { removeTree } from "../lib/files/remove-tree.ts";
import type { PackageProgress } from "./package-progress.ts";

describe("preparing packages", () => {
  test("a wheel is downloaded, checked and unpacked into a tree that nobody can write to", async () => {
    await using lab = await PackageLab.open();
    const sha256 = lab.index.add({ name: "Good.Name", version: "1.2" });
    const prepared = await lab.prepare("good_name");
    const wheel = "Good_Name-1.2-py3-none-any.whl";
    expect(prepared.packages).toEqual([
      { name: "good-name", version: "1.2", sha256, index: `${lab.index.origin}/simple/`, wheel },
    ]);
    const module = join(prepared.directory, "good_name", "__init__.py");
    expect(await readFile(module, "utf8")).toBe('version = "1.2"\n');
    expect((await stat(module)).mode & 0o777).toBe(0o444);
    expect((await stat(join(prepared.directory, "good_name"))).mode & 0o777).toBe(0o555);
    expect(await lab.setNames()).toEqual([prepared.key]);
  });

  test("files of a wheel's data directory go where Python looks for them, and scripts get an interpreter", async () => {
    await using lab = await PackageLab.open();
    const files = {
      "tool-1.data/purelib/tool.py": "x = 1\n",
      "tool-1.data/platlib/native.py": "x = 2\n",
      "tool-1.data/scripts/tool": "#!python\nprint(1)\n",
      "tool-1.data/headers/tool.h": "",
    };
    lab.index.add({ name: "tool", version: "1", files });
    const { directory } = await lab.prepare("tool");
    expect((await readdir(directory)).sort()).toEqual(["bin", "native.py", "tool-1.dist-info", "tool.py"]);
    expect(await readFile(join(directory, "bin", "tool"), "utf8")).toBe("#!/usr/bin/env python3\nprint(1)\n");
    expect((await stat(join(directory, "bin", "tool"))).mode & 0o777).toBe(0o555);
  });

  test("dependencies are followed, with extras and conditions of the cell's Python", async () => {
    await using lab = await PackageLab.open();
    lab.index.add({ name: "app", version: "1", requires: ["lib[fast]>=2", 'winonly; sys_platform == "win32"'] });
    const requires = ['speedups; extra == "fast"', 'slow; extra == "slow"', 'new; python_version < "3.12"'];
    lab.index.add({ name: "lib", version: "2.1", extras: ["fast", "slow"], requires });
    lab.index.add({ name: "lib", version: "1.9" });
    lab.index.add({ name: "speedups", version: "0.1" });
    lab.index.add({ name: "new", version: "5" });
    expect(await lab.versions("app")).toEqual(["app 1", "lib 2.1", "new 5", "speedups 0.1"]);
    expect(lab.index.requests.filter((path) => /winonly|slow/.test(path))).toEqual([]);
  });

  test("an HTML index, and metadata that is offered apart, give the same packages", async () => {
    await using lab = await PackageLab.open({ format: "html" });
    lab.index.add({ name: "app", version: "2", requires: ["lib<2"], requiresPython: ">=3.8", offersMetadata: true });
    lab.index.add({ name: "app", version: "3", requiresPython: ">=3.12" });
    lab.index.add({ name: "lib", version: "1.5", offersMetadata: true });
    expect(await lab.versions("app")).toEqual(["app 2", "lib 1.5"]);
    expect(lab.index.requests.filter((path) => path.endsWith(".metadata")).length).toBe(2);
  });

  test("the wheel with the most specific tags of this Python is taken", async () => {
    await using lab = await PackageLab.open();
    const tags = [
      ...[
        "py3-none-any",
        "cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64",
        "cp311-cp311-manylinux_2_99_x86_64",
      ],
      ...["cp311-cp311-musllinux_1_2_x86_64", "cp312-cp312-manylinux_2_17_x86_64", "cp38-abi3-manylinux_2_17_x86_64"],
    ];
    for (const tag of tags) lab.index.add({ name: "native", version: "1", tag });
    const [native] = (await lab.prepare("native")).packages;
    expect(native?.wheel).toBe("native-1-cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64.whl");
  });

  test("progress names each package that is looked up, downloaded and unpacked", async () => {
    await using lab = await PackageLab.open();
    lab.index.add({ name: "good", version: "1" });
    const events: PackageProgress[] = [];
    await lab.prepare("good", { onProgress: (event) => events.push(event) });
    const kinds = new Set(events.map(({ kind, name }) => `${kind} ${name}`));
    expect([...kinds]).toEqual(["resolving good", "downloading good", "unpacking good"]);
    const last = events.findLast((event) => event.kind === "downloading");
    expect(last).toMatchObject({ bytes: last?.totalBytes });
  });
});

describe("the cache", () => {
  test("a second start with the same requirements, in another order, asks no index", async () => {
    await using lab = await PackageLab.open();
    lab.index.add({ name: "a", version: "1.2" });
    lab.index.add({ name: "b", version: "1" });
    const first = await lab.prepare(["a", "b"]);
    lab.index.forget();
    expect(await lab.prepare(["b", "a"])).toEqual({ ...first, fromCache: true });
    expect(lab.index.requests).toEqual([]);
  });

  test("requirements that are not pinned are resolved again after a day, pinned ones are not", async () => {
    await using lab = await PackageLab.open();
    lab.index.add({ name: "lib", version: "1" });
    await lab.prepare("lib");
    await lab.prepare("lib==1");
    lab.index.add({ name: "lib", version: "2" });
    const nowMs = Date.parse("2026-06-02T00:00:01Z");
    expect(await lab.versions("lib", { nowMs: nowMs - 2_000 })).toEqual(["lib 1"]);
    expect(await lab.versions("lib", { nowMs })).toEqual(["lib 2"]);
    lab.index.forget();
    expect((await lab.prepare("lib==1", { nowMs: nowMs + 10 ** 12 })).fromCache).toBe(true);
    expect(lab.index.requests).toEqual([]);
  });

  test("refresh resolves again at once, and another rule or Python is another question", async () => {
    await using lab = await PackageLab.open();
    lab.index.add({ name: "lib", version: "1", uploadTime: "2020-01-01T00:00:00Z" });
    await lab.prepare("lib");
    lab.index.add({ name: "lib", version: "2", uploadTime: "2020-01-01T00:00:00Z" });
    expect(await lab.versions("lib", { rules: { minAgeMs: 1 } })).toEqual(["lib 2"]);
    expect(await lab.versions("lib")).toEqual(["lib 1"]);
    expect(await lab.versions("lib", { refresh: true })).toEqual(["lib 2"]);
  });

  test("offline uses what was prepared before, however old, and says so if there is nothing", async () => {
    await using lab = await PackageLab.open();
    lab.index.add({ name: "lib", version: "1" });
    const { directory } = await lab.prepare("lib");
    lab.index.forget();
    const later = { offline: true, nowMs: Date.parse("2030-01-01T00:00:00Z") };
    expect(await lab.prepare("lib", later)).toMatchObject({ directory, fromCache: true });
    await expect(lab.prepare("other", later)).rejects.toMatchObject({
      ...{ code: "packages_failed", details: { reason: "offline" } },
      message: "other cannot be prepared offline: these were never prepared with the same rules and Python",
    });
    expect(lab.index.requests).toEqual([]);
  });

  test("a set that was removed or damaged is unpacked again from its wheels, without an index", async () => {
    await using lab = await PackageLab.open();
    lab.index.add({ name: "lib", version: "1" });
    const { directory, key } = await lab.prepare("lib");
    lab.index.forget();
    await removeTree(join(lab.cacheDir, "sets", key));
    expect((await lab.prepare("lib")).directory).toBe(directory);
    await rm(join(lab.cacheDir, "sets", key, "set.json"));
    expect((await lab.prepare("lib")).directory).toBe(directory);
    expect(await readFile(join(directory, "lib", "__init__.py"), "utf8")).toContain("version");
    expect(lab.index.requests).toEqual([]);
    expect(await lab.setNames()).toEqual([key]);
  });

  test("a lock record that cannot be read is resolved again", async () => {
    await using lab = await PackageLab.open();
    lab.index.add({ name: "lib", version: "1" });
    await lab.prepare("lib");
    const locks = join(lab.cacheDir, "locks");
    for (const name of await readdir(locks)) await writeFile(join(locks, name), '{"packages":[{"sha256":"../x"}]}');
    expect(await lab.versions("lib")).toEqual(["lib 1"]);
  });

  test("several starts at once give one set, and a version that two sets share is downloaded once", async () => {
    await using lab = await PackageLab.open();
    lab.index.add({ name: "lib", version: "1", requires: ["base"] });
    lab.index.add({ name: "base", version: "1" });
    const sets = await Promise.all(Array.from({ length: 5 }, () => lab.prepare("lib")));
    expect(new Set(sets.map(({ directory }) => directory)).size).toBe(1);
    expect((await lab.setNames()).length).toBe(1);
    lab.index.forget();
    await lab.prepare("base");
    expect(lab.index.requests).toEqual(["/simple/base/"]);
  });

  test("a start that is aborted stops, and leaves no draft", async () => {
    await using lab = await PackageLab.open();
    lab.index.add({ name: "lib", version: "1" });
    const stop = new AbortController();
    lab.index.on("/simple/lib/", () => stop.abort(new Error("enough")));
    await expect(lab.prepare("lib", { signal: stop.signal })).rejects.toMatchObject({ code: "aborted" });
    expect(await lab.setNames()).toEqual([]);
    expect(await readdir(join(lab.cacheDir, "wheels"))).toEqual([]);
  });
});
