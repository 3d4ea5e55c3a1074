import { existsSync, readFileSync, statSync } from "node:fs";
import { mkdtemp, readdir, rm, utimes } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { removeOldKernels } from "../linux/kernel-files.ts";
import { shareConstantFiles } from "./constant-files.ts";
import { identityFiles } from "./identity-files.ts";

let runtimeDir: string;
beforeEach(async () => {
  runtimeDir = await mkdtemp(join(tmpdir(), "constant-files-"));
});
afterEach(() => rm(runtimeDir, { recursive: true, force: true }));

test("the second command uses the constant files of the first, and no draft is left", async () => {
  const first = shareConstantFiles(runtimeDir);
  expect(shareConstantFiles(runtimeDir)).toEqual(first);
  expect(await readdir(runtimeDir)).toEqual([expect.stringMatching(/^constant-[0-9a-f]{16}$/)]);
  expect(readFileSync(join(first.identityDirectory, "passwd"), "utf8")).toBe(identityFiles.passwd);
  expect(readFileSync(first.emptyFile, "utf8")).toBe("");
  const modes = [first.closedFile, first.closedDirectory].map((path) => statSync(path).mode & 0o777);
  expect(modes).toEqual([0, 0]);
});

test("constant files that nobody has used for a month are removed, and using them keeps them", async () => {
  const directory = dirname(shareConstantFiles(runtimeDir).emptyFile);
  const monthAgo = new Date(Date.now() - 30 * 24 * 3_600_000);
  await utimes(directory, monthAgo, monthAgo);
  shareConstantFiles(runtimeDir);
  await removeOldKernels(runtimeDir);
  expect(existsSync(directory)).toBe(true);
  await utimes(directory, monthAgo, monthAgo);
  await removeOldKernels(runtimeDir);
  expect(existsSync(directory)).toBe(false);
});
