import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { auditDirectory } from "../../src/audit/chain/chain-files.ts";
import { verifyAudit } from "../../src/audit/verify.ts";
import type { PolicyInput } from "../../src/policy/schema.ts";
import { processRunner } from "../../src/runners/process/runner.ts";
import type { EnforcedRule } from "../../src/runners/receipt.ts";
import { wasmRunner } from "../../src/runners/wasm/runner.ts";
import { Codecell } from "../../src/sessions/codecell.ts";
import { filesBelow, filesWith } from "../contract/receipts/attacked.ts";
import { TestService } from "../support/http-service.ts";
import { probeSrt, testedSrtRunner } from "../support/srt.ts";
import { availableRunners, codecell } from "./codecell-process.ts";
import { compareSurfaces } from "./compare-surfaces.ts";

const policy: PolicyInput = {
  ...{ isolation: { runner: "wasm" }, proc: { timeout: "20s" }, audit: { code: "hash" } },
  session: { limit: 1, pool: 0 },
};
/** The fastest that is here, for rules that the host enforces in the same way for every runner. */
const fastest = (await availableRunners()).includes("process") ? "process" : "wasm";
const makeFastest = () => (fastest === "process" ? processRunner() : wasmRunner());
const marker = "m4rker-of-a-surface";

/** The rows of the library's receipt under a policy. */
async function openLibrary(input: PolicyInput, root: string): Promise<readonly EnforcedRule[]> {
  await using sandbox = await Codecell.open({
    ...{
      policy: input,
      runners: [wasmRunner()],
      stateDir: join(root, "library"),
      runtimeDir: join(root, "library-run"),
    },
  });
  await using session = await sandbox.session();
  return (await session.receipt()).rules;
}

const makeForOneCell = () => processRunner({ isForOneCell: true });
await compareSurfaces("the process runner", { make: () => processRunner(), makeForOneCell, env: {} });
await compareSurfaces("the srt runner", { make: () => testedSrtRunner(), probe: probeSrt });

describe("the receipt of", () => {
  let root: string;
  let args: string[];
  const state = () => join(root, "state");
  let received: ReturnType<typeof openLibrary> | undefined;
  /** The rows under the policy, which several surfaces are compared with. */
  const libraryRows = () => {
    received ??= openLibrary(policy, root);
    return received;
  };
  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), "cc-surfaces-"));
    await writeFile(join(root, "policy.json"), JSON.stringify(policy));
    args = ["--policy", join(root, "policy.json"), "--state-dir", state()];
  });
  afterAll(() => rm(root, { recursive: true, force: true }));

  const run = async (...more: string[]) => {
    const { stdout, stderr } = await codecell(["run", "--json", ...args, ...more]);
    if (stdout === "") throw new Error(stderr);
    return JSON.parse(stdout);
  };
  const code = `text = "${marker}"\nopen("f", "w").write(text)`;
  const keptFiles = async () =>
    (await filesWith(state(), marker)).filter((path) => !path.startsWith(auditDirectory(state())));

  test("a plain `codecell run` equals the library's, nothing is kept, and the audit has only the hash", async () => {
    const { receipt } = await run("-c", code);
    expect(receipt.rules).toEqual(await libraryRows());
    expect(await filesBelow(join(state(), "sessions"))).toEqual([]);
    expect(await filesWith(state(), marker)).toEqual([]);
    expect(await verifyAudit(auditDirectory(state()))).toMatchObject({ isSound: true });
    expect(await filesWith(auditDirectory(state()), '"type":"run.ended"')).toHaveLength(1);
  });

  test("`codecell run --session` equals the library's for persistent sessions, and the session is saved", async () => {
    const { receipt } = await run("--session", "kept", "-c", code);
    const persistent = { ...policy, session: { ...policy.session, persist: true } };
    expect(receipt.rules).toEqual(await openLibrary(persistent, root));
    expect((await keptFiles()).length).toBeGreaterThan(0);
  });

  test("`codecell run` under a short session.lifetime is true: the run ends with its session", async () => {
    const file = join(root, "short.json");
    const rules = { isolation: { runner: fastest }, session: { lifetime: "300ms" }, audit: { enabled: false } };
    await writeFile(file, JSON.stringify({ ...policy, ...rules }));
    const own = join(root, "silent");
    const { stdout } = await codecell([
      "run",
      "--json",
      "--policy",
      file,
      "--state-dir",
      own,
      "-c",
      "while True: pass",
    ]);
    const { receipt, state: left } = JSON.parse(stdout);
    expect(left).toBe("lost");
    expect(receipt.rules).toContainEqual(
      expect.objectContaining({ rule: "session.lifetime", value: "300ms", by: "host" }),
    );
    expect(receipt.rules).toContainEqual(
      expect.objectContaining({ rule: "audit.enabled", how: "nothing is recorded" }),
    );
    expect(await filesBelow(auditDirectory(own))).toEqual([]);
  });

  test("`codecell policy explain` equals the receipt of a run", async () => {
    const { stdout } = await codecell(["policy", "explain", join(root, "policy.json"), "--json"]);
    expect(JSON.parse(stdout).rules).toEqual(await libraryRows());
  });

  test("a run over HTTP equals the library's, and its session limit and audit are enforced", async () => {
    await using service = await TestService.open({ runners: [wasmRunner()], policy, audit: true });
    const client = await service.client("alice");
    await client.session("only");
    const { json } = await client.run("only", code);
    const receipt = await client.call("GET", `/v1/sessions/only/runs/${json.run_id}/receipt`);
    expect(receipt.json.rules).toEqual(await libraryRows());
    const second = await client.call("POST", "/v1/sessions", { session_id: "second" });
    expect(second.json).toMatchObject({ error: { code: "session_limit" } });
    expect((await client.call("POST", "/v1/sessions/only/save")).json).toMatchObject({
      error: { code: "not_supported" },
    });
    await client.call("DELETE", "/v1/sessions/only");
    expect(await filesWith(service.stateDir, marker)).toEqual([]);
    const ended = () => filesWith(auditDirectory(service.stateDir), '"type":"run.ended"');
    await expect.poll(async () => (await ended()).length).toBe(1);
  });

  test("an idle session over HTTP is true: the session is closed", async () => {
    const input: PolicyInput = { ...policy, isolation: { runner: fastest }, session: { idle: "150ms" } };
    await using service = await TestService.open({ runners: [makeFastest()], policy: input });
    const client = await service.client("alice");
    await client.session("idle");
    await expect.poll(() => service.manager.aliveIds()).toEqual([]);
    expect((await client.run("idle", "1")).json).toMatchObject({ error: { code: "session_culled" } });
  });
});
