import { mkdir, mkdtemp, realpath, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { denyMatcher } from "./deny.ts";
import { resolveSource } from "./host-source.ts";

describe("the real path of a mount's source", () => {
  let root: string;
  const rule = "fs.workspace";
  const matcher = denyMatcher([]);
  beforeEach(async () => {
    root = await realpath(await mkdtemp(join(tmpdir(), "codecell-source-")));
  });
  afterEach(() => rm(root, { recursive: true, force: true }));

  test("is found by following links", async () => {
    await mkdir(join(root, "real"));
    await symlink(join(root, "real"), join(root, "link"));
    expect(await resolveSource({ rule, path: join(root, "link"), writable: true }, matcher)).toBe(join(root, "real"));
  });

  test("is refused when a link leads to a system directory", async () => {
    await symlink("/etc", join(root, "harmless"));
    const resolved = resolveSource({ rule, path: join(root, "harmless"), writable: false }, matcher);
    await expect(resolved).rejects.toMatchObject({ code: "policy_refused", details: { rule } });
  });

  test("is refused when a link leads to credentials", async () => {
    await mkdir(join(root, ".aws"));
    await symlink(join(root, ".aws"), join(root, "harmless"));
    const resolved = resolveSource({ rule, path: join(root, "harmless"), writable: false }, matcher);
    await expect(resolved).rejects.toThrow(/denied by \.aws/);
  });

  test("is refused when the source does not exist", async () => {
    const resolved = resolveSource({ rule, path: join(root, "none"), writable: false }, matcher);
    await expect(resolved).rejects.toMatchObject({ code: "policy_refused" });
  });
});
