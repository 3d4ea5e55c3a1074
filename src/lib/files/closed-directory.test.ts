import { chmod, mkdir, mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { closedDirectory } from "./closed-directory.ts";

let base: string;
beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), "closed-"));
  await chmod(base, 0o711);
  await mkdir(join(base, "a/b"), { recursive: true, mode: 0o711 });
});
afterEach(() => rm(base, { recursive: true, force: true }));

test("there is none where everyone may pass", async () => {
  expect(await closedDirectory(join(base, "a/b"))).toBeUndefined();
});

test.each(["a", "a/b"])("it is %s, if others may not enter that", async (path) => {
  await chmod(join(base, path), 0o700);
  expect(await closedDirectory(join(base, "a/b"))).toBe(join(base, path));
});

test("it may be on the way that a symbolic link takes", async () => {
  await mkdir(join(base, "far/data"), { recursive: true, mode: 0o711 });
  await symlink(join(base, "far/data"), join(base, "a/link"));
  expect(await closedDirectory(join(base, "a/link"))).toBeUndefined();
  await chmod(join(base, "far"), 0o700);
  expect(await closedDirectory(join(base, "a/link"))).toBe(join(base, "far"));
});
