import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { initPolicy } from "./init-policy.ts";
import { findPolicy, loadPolicy } from "./load-policy.ts";
import { parsePolicy } from "./parse-policy.ts";

describe("policy files", () => {
  let root: string;
  const at = (name: string) => join(root, name);
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), "codecell-policy-"));
  });
  afterEach(() => rm(root, { recursive: true, force: true }));

  test("are read with paths relative to themselves", async () => {
    await writeFile(at("p.yaml"), "fs: { deps: deps }\n");
    expect((await loadPolicy(at("p.yaml"))).fs.deps).toBe(at("deps"));
  });

  test("policy files that are missing, directories or pipes are usage errors, without waiting", async () => {
    await mkdir(at("dir"));
    execFileSync("mkfifo", [at("pipe")]);
    await expect(loadPolicy(at("none"))).rejects.toMatchObject({
      code: "usage",
      hint: expect.stringContaining("policy init"),
    });
    await expect(loadPolicy(at("dir"))).rejects.toMatchObject({ code: "usage" });
    await expect(loadPolicy(at("pipe"))).rejects.toMatchObject({ code: "usage" });
  });

  test("huge policy files are rejected without being read", async () => {
    await writeFile(at("p.yaml"), "");
    await truncate(at("p.yaml"), 10 * 2 ** 30);
    await expect(loadPolicy(at("p.yaml"))).rejects.toMatchObject({ code: "policy_invalid" });
  });

  test("name themselves in errors as the caller named them", async () => {
    await writeFile(at("p.yaml"), "proc:\n  memry: 1GiB\n");
    await expect(loadPolicy(at("p.yaml"))).rejects.toThrow(`${at("p.yaml")}:2:3  proc.memry: unknown rule`);
  });

  test("a policy file in its own writable workspace must be hidden from it", async () => {
    await writeFile(at("sandbox.policy.yaml"), "fs: { workspace: . }\n");
    expect((await loadPolicy(at("sandbox.policy.yaml"))).fs.workspace).toBe(root);
    await writeFile(at("other.yaml"), "fs: { workspace: . }\n");
    await expect(loadPolicy(at("other.yaml"))).rejects.toThrow("could rewrite this policy");
    await writeFile(at("other.yaml"), "fs: { workspace: ., deny: [other.yaml] }\n");
    expect((await loadPolicy(at("other.yaml"))).fs.workspace).toBe(root);
  });

  test("are looked for in one directory only", async () => {
    await mkdir(at("sub"));
    await writeFile(at("sandbox.policy.yaml"), "");
    expect(await findPolicy(root)).toBe(at("sandbox.policy.yaml"));
    expect(await findPolicy(at("sub"))).toBeUndefined();
  });

  test("a policy file with nearly the right name is reported, not ignored", async () => {
    await writeFile(at("sandbox.policy.yml"), "");
    await expect(findPolicy(root)).rejects.toMatchObject({ code: "usage" });
  });

  test("are written by init, and not over another one", async () => {
    const path = await initPolicy(root);
    expect(await loadPolicy(path)).toEqual(parsePolicy({}));
    await expect(initPolicy(root)).rejects.toMatchObject({ code: "usage" });
    await initPolicy(root, { preset: "data-analysis", force: true });
    expect((await loadPolicy(path)).kernel.preload).toContain("pandas");
    await expect(initPolicy(at("none"))).rejects.toMatchObject({ code: "usage" });
  });
});
