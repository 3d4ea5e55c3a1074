import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { effectivePolicy, type SandboxPolicy } from "./sandbox-policy.ts";

describe("sandboxPolicy", () => {
  const text = "version: 1\nproc: { timeout: 20s }\noverrides: { ceiling: { proc: { timeout: 60s } } }\n";
  let cwd: string;
  beforeEach(async () => {
    cwd = await mkdtemp(join(tmpdir(), "codecell-query-policy-"));
  });
  afterEach(() => rm(cwd, { recursive: true, force: true }));
  const put = (name: string) => writeFile(join(cwd, name), text, { mode: 0o600 });
  const seconds = async (given?: SandboxPolicy) => (await effectivePolicy(given, cwd)).policy.proc.timeoutMs / 1000;

  test("is the strictest policy by default, whatever file is in the directory", async () => {
    await put("sandbox.policy.yaml");
    expect(await seconds()).toBe(30);
    expect(await seconds({ proc: { memory: "300MiB" } })).toBe(30); // an object is a whole policy
  });

  test("applies an override to the named file, or to sandbox.policy.yaml of the directory", async () => {
    await put("other.yaml");
    const override = { proc: { timeout: "50s" } };
    expect(await seconds("other.yaml")).toBe(20);
    expect(await seconds({ file: "other.yaml", override })).toBe(50);
    await put("sandbox.policy.yaml");
    const { changes } = await effectivePolicy({ override }, cwd);
    expect(changes).toEqual([{ rule: "proc.timeout", from: "20s", to: "50s", direction: "wider" }]);
    await expect(seconds({ override: { proc: { timeout: "2m" } } })).rejects.toMatchObject({
      code: "override_refused",
    });
  });

  test("hides the policy file from code if an override opens its directory", async () => {
    const opened = "version: 1\noverrides: { ceiling: { fs: { workspace: . } } }\n";
    await writeFile(join(cwd, "sandbox.policy.yaml"), opened, { mode: 0o600 });
    const { policy } = await effectivePolicy({ override: { fs: { workspace: cwd } } }, cwd);
    expect(policy.fs).toMatchObject({ workspace: cwd, deny: ["sandbox.policy.yaml"] });
  });

  test("does not use a found file that other users can write to", async () => {
    await put("sandbox.policy.yaml");
    await chmod(join(cwd, "sandbox.policy.yaml"), 0o666);
    await expect(seconds({ override: {} })).rejects.toMatchObject({ code: "policy_refused" });
  });

  test("explains an override without a file, rules beside it, and a file without one", async () => {
    await expect(seconds({ override: {} })).rejects.toMatchObject({
      code: "usage",
      message: expect.stringContaining("there is no sandbox.policy.yaml in"),
    });
    const mixed = { override: {}, net: { enabled: true } } as SandboxPolicy;
    await expect(seconds(mixed)).rejects.toMatchObject({ hint: "move these rules into override" });
    for (const nonsense of [7, [], { proc: 7 }] as never[]) {
      await expect(seconds(nonsense)).rejects.toMatchObject({ code: "policy_invalid" });
    }
    for (const empty of [null, { proc: null }] as never[]) expect(await seconds(empty)).toBe(30);
    await expect(seconds({ file: "a.yaml" } as SandboxPolicy)).rejects.toThrow("{ file } has no override");
  });
});
