import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { makeDirectories } from "./make-directories.ts";

describe("makeDirectories", () => {
  let root: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), "codecell-make-"));
  });
  afterEach(() => rmSync(root, { recursive: true }));

  test("creates a directory and its missing parents with the given mode", async () => {
    await makeDirectories(join(root, "a/b/c"), 0o700);
    for (const path of ["a", "a/b", "a/b/c"]) expect(statSync(join(root, path)).mode & 0o777).toBe(0o700);
  });

  test("accepts existing directories and concurrent calls", async () => {
    await Promise.all(Array.from({ length: 8 }, () => makeDirectories(join(root, "x/y/z"), 0o700)));
    await makeDirectories(join(root, "x/y/"), 0o500);
    expect(statSync(join(root, "x/y")).mode & 0o777).toBe(0o700);
    await makeDirectories("/", 0o700);
  });

  test("fails if a file is in the way, or if no directory can be created there", async () => {
    writeFileSync(join(root, "file"), "");
    await expect(makeDirectories(join(root, "file"), 0o700)).rejects.toMatchObject({ code: "EEXIST" });
    await expect(makeDirectories(join(root, "file/below"), 0o700)).rejects.toMatchObject({ code: "ENOTDIR" });
    // Node's own recursive mkdir never returns here
    if (process.platform === "linux")
      await expect(makeDirectories("/proc/none/below", 0o700)).rejects.toMatchObject({ code: "ENOENT" });
  });
});
