import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { findHostRoot } from "./host-root.ts";

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "host-root-test-"));
});
afterEach(() => rm(root, { recursive: true, force: true }));

test("findHostRoot lists symlinks and directories separately and leaves out missing paths", async () => {
  await symlink("usr/bin", join(root, "bin"));
  await mkdir(join(root, "lib"));
  await mkdir(join(root, "etc"));
  await writeFile(join(root, "etc/ld.so.cache"), "");
  expect(await findHostRoot(root)).toEqual({
    links: [{ path: "/bin", target: "usr/bin" }],
    directories: ["/lib"],
    etc: ["/etc/ld.so.cache"],
    certificates: undefined,
  });
});
