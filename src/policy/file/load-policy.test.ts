import { execFileSync } from "node:child_process";
import { chmod, chown, lchown, mkdir, mkdtemp, rm, stat, symlink, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { initPolicy } from "./init-policy.ts";
import { findPolicy, loadPolicy } from "./load-policy.ts";
import { parsePolicy } from "./parse-policy.ts";

describe("a policy file", () => {
  let root: string;
  const at = (name: string) => join(root, name);
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), "codecell-policy-"));
  });
  afterEach(() => rm(root, { recursive: true, force: true }));

  test("resolves its paths relative to its own directory", async () => {
    await writeFile(at("p.yaml"), "fs: { deps: deps }\n");
    expect((await loadPolicy(at("p.yaml"))).fs.deps).toBe(at("deps"));
  });

  test("a policy file that is missing, a directory or a pipe is a usage error at once", async () => {
    await mkdir(at("dir"));
    execFileSync("mkfifo", [at("pipe")]);
    await expect(loadPolicy(at("none"))).rejects.toMatchObject({
      code: "usage",
      hint: expect.stringContaining("policy init"),
    });
    await expect(loadPolicy(at("dir"))).rejects.toMatchObject({ code: "usage" });
    await expect(loadPolicy(at("pipe"))).rejects.toMatchObject({ code: "usage" });
  });

  test.each([
    [0o666, /every user may write/],
    [0o662, /every user may write/],
  ])("a found policy file of mode %o is refused with the reason and the fix", async (mode, message) => {
    await writeFile(at("p.yaml"), "");
    await chmod(at("p.yaml"), mode);
    const found = loadPolicy(at("p.yaml"), { mustBeOwn: true });
    await expect(found).rejects.toMatchObject({ code: "policy_refused", message: expect.stringMatching(message) });
    await expect(found).rejects.toMatchObject({ hint: expect.stringMatching(/chmod go-w .*p\.yaml.*--policy/) });
    await expect(loadPolicy(at("p.yaml"))).resolves.toBeDefined();
  });

  test("a found policy file that the user alone, or their private group, may write to is obeyed", async () => {
    await writeFile(at("p.yaml"), "");
    await chmod(at("p.yaml"), 0o644);
    await expect(loadPolicy(at("p.yaml"), { mustBeOwn: true })).resolves.toBeDefined();
    const { uid, gid } = await stat(at("p.yaml"));
    await chmod(at("p.yaml"), 0o664);
    if (uid === gid) await expect(loadPolicy(at("p.yaml"), { mustBeOwn: true })).resolves.toBeDefined();
  });

  test.skipIf(process.getuid?.() !== 0)(
    "a found policy file of another user or a shared group is refused",
    async () => {
      await writeFile(at("p.yaml"), "");
      await chmod(at("p.yaml"), 0o664);
      await chown(at("p.yaml"), 0, 100);
      await expect(loadPolicy(at("p.yaml"), { mustBeOwn: true })).rejects.toThrow(/group 100 may write/);
      await chmod(at("p.yaml"), 0o644);
      await chown(at("p.yaml"), 1234, 100);
      await expect(loadPolicy(at("p.yaml"), { mustBeOwn: true })).rejects.toThrow(
        /belongs to another user \(uid 1234\)/,
      );
      await chown(at("p.yaml"), 0, 0);
      await symlink("p.yaml", at("link.yaml"));
      await lchown(at("link.yaml"), 1234, 1234);
      await expect(loadPolicy(at("link.yaml"), { mustBeOwn: true })).rejects.toThrow(/another user/);
      await expect(loadPolicy(at("link.yaml"))).resolves.toBeDefined();
    },
  );

  test("a huge policy file is rejected without being read", async () => {
    await writeFile(at("p.yaml"), "");
    await truncate(at("p.yaml"), 10 * 2 ** 30);
    await expect(loadPolicy(at("p.yaml"))).rejects.toMatchObject({ code: "policy_invalid" });
  });

  test("is named in errors as the caller wrote its path", async () => {
    await writeFile(at("p.yaml"), "proc:\n  memry: 1GiB\n");
    await expect(loadPolicy(at("p.yaml"))).rejects.toThrow(`${at("p.yaml")}:2:3  proc.memry: unknown rule`);
  });

  test("a policy file in its own writable workspace must be hidden from the cell", async () => {
    await writeFile(at("sandbox.policy.yaml"), "fs: { workspace: . }\n");
    expect((await loadPolicy(at("sandbox.policy.yaml"))).fs.workspace).toBe(root);
    await writeFile(at("other.yaml"), "fs: { workspace: . }\n");
    await expect(loadPolicy(at("other.yaml"))).rejects.toThrow("could rewrite this policy");
    await writeFile(at("other.yaml"), "fs: { workspace: ., deny: [other.yaml] }\n");
    expect((await loadPolicy(at("other.yaml"))).fs.workspace).toBe(root);
  });

  test("is looked for in one directory only", async () => {
    await mkdir(at("sub"));
    await writeFile(at("sandbox.policy.yaml"), "");
    expect(await findPolicy(root)).toBe(at("sandbox.policy.yaml"));
    expect(await findPolicy(at("sub"))).toBeUndefined();
  });

  test("a policy file with nearly the right name is reported, not ignored", async () => {
    await writeFile(at("sandbox.policy.yml"), "");
    await expect(findPolicy(root)).rejects.toMatchObject({ code: "usage" });
  });

  test("is written by init, which does not overwrite an existing one", async () => {
    const path = await initPolicy(root);
    expect(await loadPolicy(path)).toEqual(parsePolicy({}));
    await expect(initPolicy(root)).rejects.toMatchObject({ code: "usage" });
    await initPolicy(root, { preset: "data-analysis", force: true });
    expect((await loadPolicy(path)).kernel.preload).toContain("pandas");
    await expect(initPolicy(at("none"))).rejects.toMatchObject({ code: "usage" });
  });
});
