import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { FakeTerminal } from "../../../../test/fakes/fake-terminal.ts";
import { parsePolicy } from "../../../policy/file/parse-policy.ts";
import { rememberWritable } from "../../../policy/file/policy-trust.ts";
import { effectivePolicy } from "./effective-policy.ts";
import type { PolicyFlags } from "./policy-options.ts";

let cwd: string;
beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), "codecell-cli-"));
  await mkdir(join(cwd, "work"));
});
afterEach(() => rm(cwd, { recursive: true }));

const write = (text: string, name = "sandbox.policy.yaml") => writeFile(join(cwd, name), text);
const effective = (flags: PolicyFlags = {}, env: Record<string, string> = {}) =>
  effectivePolicy(flags, new FakeTerminal({ cwd, env }));

test("without a policy file the effective policy is the strictest one", async () => {
  const { policy, file, changes } = await effective();
  expect({ file, changes, mounts: policy.fs.mounts }).toEqual({ file: undefined, changes: [], mounts: [] });
});

test("--policy overrides CODECELL_POLICY, which overrides the file of the current directory", async () => {
  await write("proc: { timeout: 1s }");
  await write("proc: { timeout: 2s }", "two.yaml");
  await write("proc: { timeout: 3s }", "three.yaml");
  const timeout = async (flags: PolicyFlags, env = {}) => (await effective(flags, env)).policy.proc.timeoutMs;
  expect(await timeout({})).toBe(1000);
  expect(await timeout({}, { CODECELL_POLICY: "two.yaml" })).toBe(2000);
  expect(await timeout({ policy: "three.yaml" }, { CODECELL_POLICY: "two.yaml" })).toBe(3000);
});

test("flags can widen the policy, are listed as changes, and keep the file's ceiling for other callers", async () => {
  await write("proc: { timeout: 10s }\noverrides: { ceiling: { proc: { timeout: 20s } } }");
  const { policy, changes } = await effective({ timeout: "5m", memory: "64MiB" });
  expect(policy.proc).toMatchObject({ timeoutMs: 300_000, memoryBytes: 64 * 2 ** 20 });
  expect(policy.overrides.ceiling.proc?.timeoutMs).toBe(20_000);
  expect(changes).toEqual([
    { rule: "proc.timeout", from: "10s", to: "5m", direction: "wider" },
    { rule: "proc.memory", from: "512MiB", to: "64MiB", direction: "narrower" },
  ]);
});

test("--mount adds to the mounts of the policy file", async () => {
  await write("fs: { mounts: [{ source: ./work, target: /one }] }");
  const { policy } = await effective({ mount: ["work:/two"] });
  expect(policy.fs.mounts.map(({ target }) => target)).toEqual(["/one", "/two"]);
});

test("a --runner below the minimum isolation of the policy file is refused", async () => {
  await write("isolation: { minimum: process }");
  await expect(effective({ runner: "wasm" })).rejects.toMatchObject({ code: "override_refused" });
});

test("--mount over the cell's own files is refused", async () => {
  await expect(effective({ mount: ["work:/usr/bin"] })).rejects.toMatchObject({ code: "policy_invalid" });
});

describe("a program that can write to the directory of the policy file", () => {
  test("cannot access the policy file", async () => {
    await write("");
    expect((await effective({ workspace: "." })).policy.fs.deny).toEqual(["sandbox.policy.yaml"]);
    await write("", "other.yaml");
    const { policy } = await effective({ policy: "other.yaml", mount: [".:/data:rw"] });
    expect(policy.fs.deny).toEqual(["sandbox.policy.yaml", "other.yaml"]);
  });

  test("is refused if there is no policy file, because it could create one for the next call", async () => {
    for (const flags of [{ workspace: "." }, { mount: [".:/data:rw"] }]) {
      await expect(effective(flags)).rejects.toMatchObject({ code: "policy_refused" });
    }
  });

  test("needs no deny rule if it writes elsewhere or has only read access", async () => {
    expect((await effective({ workspace: "work" })).policy.fs.deny).toEqual([]);
    expect((await effective({ mount: [".:/data"] })).policy.fs.deny).toEqual([]);
  });
});

test("credentials that an environment variable points to are denied", async () => {
  const { policy } = await effective({}, { AWS_SHARED_CREDENTIALS_FILE: "work/notes.txt" });
  expect(policy.fs.deny).toContain(`/${cwd}/work/notes.txt`);
});

test("a policy file that everybody may write to is obeyed only if it is named", async () => {
  await write("proc: { timeout: 1s }");
  await chmod(join(cwd, "sandbox.policy.yaml"), 0o666);
  await expect(effective()).rejects.toMatchObject({ code: "policy_refused" });
  expect((await effective({ policy: "sandbox.policy.yaml" })).policy.proc.timeoutMs).toBe(1000);
  expect((await effective({}, { CODECELL_POLICY: "sandbox.policy.yaml" })).policy.proc.timeoutMs).toBe(1000);
});

test("a policy file that a program may have written is refused when it is found, and obeyed when it is named", async () => {
  const [work, env] = [join(cwd, "work"), { XDG_STATE_HOME: join(cwd, "home") }];
  await rememberWritable(parsePolicy({ fs: { workspace: work } }), join(cwd, "own-state"));
  await write("net: { enabled: true }", "work/sandbox.policy.yaml");
  const there = (flags: Parameters<typeof effectivePolicy>[0]) =>
    effectivePolicy(flags, new FakeTerminal({ cwd: work, env }));
  await expect(there({ "state-dir": "../own-state" })).rejects.toMatchObject({
    code: "policy_refused",
    hint: expect.stringContaining("codecell policy trust --state-dir"),
  });
  const named = await there({ "state-dir": "../own-state", policy: "sandbox.policy.yaml" });
  expect(named.policy.net.enabled).toBe(true);
});
