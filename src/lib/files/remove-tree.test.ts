import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readFile, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { removeTree } from "./remove-tree.ts";

const nobody = 65_534;

describe("removeTree", () => {
  let directory: string;
  let tree: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), "cc-tree-"));
    tree = join(directory, "tree");
    await mkdir(tree);
  });
  afterEach(() => {
    execFileSync("rm", ["-rf", directory]);
  });

  test("removes a directory, and accepts a missing one", async () => {
    await mkdir(join(tree, "a", "b"), { recursive: true });
    await writeFile(join(tree, "a", "b", "c"), "");
    await removeTree(tree);
    await removeTree(tree);
    expect(existsSync(tree)).toBe(false);
  });

  test("removes a directory whose paths are too long for the OS", async () => {
    const code = `const fs = require("node:fs");
for (let depth = 0; depth < 40; depth++) {
  for (const name of ["a".repeat(250), "b".repeat(250)]) fs.mkdirSync(name);
  fs.writeFileSync("file", "");
  process.chdir("a".repeat(250));
}`;
    execFileSync(process.execPath, ["-e", code], { cwd: tree });
    await removeTree(tree);
    expect(existsSync(tree)).toBe(false);
  });

  test("does not touch the targets of links, even in a directory that is hard to remove", async () => {
    const outside = join(directory, "outside");
    await mkdir(outside);
    await writeFile(join(outside, "kept"), "kept");
    const code = `const fs = require("node:fs");
for (let depth = 0; depth < 20; depth++) {
  fs.mkdirSync("a".repeat(250));
  process.chdir("a".repeat(250));
  fs.symlinkSync(process.argv[1], "link");
}`;
    execFileSync(process.execPath, ["-e", code, outside], { cwd: tree });
    await symlink(outside, join(tree, "link"));
    await removeTree(tree);
    expect(existsSync(tree)).toBe(false);
    expect(await readFile(join(outside, "kept"), "utf8")).toBe("kept");
  });

  test.skipIf(process.platform === "win32")("removes a directory with parts that its owner may not read", async () => {
    const isRoot = process.getuid?.() === 0;
    await mkdir(join(tree, "closed", "below"), { recursive: true });
    await writeFile(join(tree, "closed", "below", "file"), "");
    if (isRoot) execFileSync("chown", ["-R", String(nobody), directory]);
    await chmod(join(tree, "closed", "below"), 0o300);
    await chmod(join(tree, "closed"), 0);
    await chmod(directory, 0o711);
    if (isRoot) process.seteuid?.(nobody); // permissions do not apply to root
    try {
      await removeTree(tree);
    } finally {
      if (isRoot) process.seteuid?.(0);
    }
    expect(existsSync(tree)).toBe(false);
  });
});
