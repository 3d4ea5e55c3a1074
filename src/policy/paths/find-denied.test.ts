import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { removeTree } from "../../lib/files/remove-tree.ts";
import { denyMatcher } from "./deny.ts";
import { findDenied } from "./find-denied.ts";

describe("the search for denied files in a mount", () => {
  let root: string;
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), "codecell-deny-"));
  });
  afterEach(() => rm(root, { recursive: true, force: true }));

  async function put(...paths: string[]): Promise<void> {
    for (const path of paths) {
      await mkdir(join(root, path, ".."), { recursive: true });
      await writeFile(join(root, path), "");
    }
  }

  test("returns only the topmost denied entries", async () => {
    await put(
      "main.py",
      ".env",
      "app/.ENV.local",
      "home/.aws/credentials",
      "home/.aws/sso/token",
      ".git/config",
      ".git/HEAD",
    );
    expect(await findDenied(root, denyMatcher([]))).toEqual([".env", ".git/config", "app/.ENV.local", "home/.aws"]);
  });

  test("applies the policy's own globs and exceptions", async () => {
    await put("a.csv", "sub/b.csv", ".env");
    expect(await findDenied(root, denyMatcher(["*.csv", "!.env*"]))).toEqual(["a.csv", "sub/b.csv"]);
  });

  test("does not follow links, and hides a link with a denied name", async () => {
    await put("real/.env");
    await symlink(join(root, "real"), join(root, "again"));
    await symlink("/", join(root, ".ssh"));
    expect(await findDenied(root, denyMatcher([]))).toEqual([".ssh", "real/.env"]);
  });

  test("follows a root that is itself a link", async () => {
    await put("real/.env");
    await symlink(join(root, "real"), join(root, "link"));
    expect(await findDenied(join(root, "link"), denyMatcher([]))).toEqual([".env"]);
  });

  test("hides a directory that is too deep to search, instead of failing", async () => {
    // longer than a path may be, so it is made step by step
    const script =
      "process.chdir(process.argv[1]); for (let i = 0; i < 70; i++) { fs.mkdirSync(process.argv[2]); process.chdir(process.argv[2]); }";
    execFileSync(process.execPath, ["-e", script, root, "d".repeat(60)]);
    const denied = await findDenied(root, denyMatcher([]));
    expect(denied).toHaveLength(1);
    expect(denied[0]?.length).toBeGreaterThan(2000);
    expect(denied[0]?.length).toBeLessThan(2100);
    await removeTree(root);
  });

  test("refuses a mount with too many entries to check", async () => {
    await put("a", "b", "c", "d");
    await expect(findDenied(root, denyMatcher([]), { maxEntries: 3 })).rejects.toMatchObject({
      code: "policy_refused",
      details: { rule: "fs.deny" },
    });
    expect(await findDenied(root, denyMatcher([]), { maxEntries: 4 })).toEqual([]);
  });

  // macOS does not create such names
  test.skipIf(process.platform === "darwin")("refuses a directory whose name is not UTF-8", async () => {
    await mkdir(Buffer.concat([Buffer.from(`${root}/d`), Buffer.from([0xff])]));
    await expect(findDenied(root, denyMatcher([]))).rejects.toMatchObject({ code: "policy_refused" });
  });

  test("refuses a source that does not exist", async () => {
    await expect(findDenied(join(root, "none"), denyMatcher([]))).rejects.toMatchObject({ code: "policy_refused" });
  });

  test("finds nothing in a single file", async () => {
    await put("one.csv");
    expect(await findDenied(join(root, "one.csv"), denyMatcher([]))).toEqual([]);
  });
});
