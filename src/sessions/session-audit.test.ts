import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { FakeAudit } from "../../test/fakes/fake-audit.ts";
import { type FakeOptions, FakeRunner } from "../../test/fakes/fake-runner.ts";
import { silentAudit } from "../audit/audit.ts";
import { CodecellError } from "../lib/errors.ts";
import { parsePolicy } from "../policy/file/parse-policy.ts";
import { policyHash } from "../policy/hash.ts";
import type { PolicyInput } from "../policy/schema.ts";
import { LiveSessions } from "./live-sessions.ts";
import { SessionAudit } from "./session-audit.ts";

async function open(audit: FakeAudit, input: PolicyInput = {}, fake: FakeOptions = {}) {
  const policy = parsePolicy(input);
  return { policy, codecell: await LiveSessions.open({ policy, runners: [new FakeRunner(fake)], audit }) };
}

describe("the audit of a session", () => {
  test("the audit records the opening, each run with code, hashes and outcome, and the end, in this order", async () => {
    const audit = new FakeAudit();
    const { codecell, policy } = await open(audit, {}, { program: () => ({ status: "error", exitCode: 3 }) });
    const session = await codecell.openSession({ id: "one" });
    await session.run("1/0");
    await codecell.close();
    expect(audit.types()).toEqual(["session.opened", "run.started", "run.ended", "session.closed"]);
    const hash = policyHash(policy);
    const codeHash = createHash("sha256").update("1/0").digest("hex");
    expect(audit.events).toMatchObject([
      { session: "one", runner: "wasm", policy: hash, origin: "new" },
      {
        session: "one",
        run: 1,
        policy: hash,
        codeHash,
        codeBytes: 3,
        code: "1/0",
        language: "python",
        timeoutMs: 30_000,
      },
      { session: "one", run: 1, status: "error", state: "kept", exitCode: 3, files: [], network: [] },
      { session: "one", isKept: false },
    ]);
  });

  test("the audit records an expression like a run, and no plain name of a variable", async () => {
    const audit = new FakeAudit();
    const secret = "hunter2hunter2";
    const value = (expression: string) => expression.length;
    const onBytes = () => {
      throw new CodecellError("too_large", "no room");
    };
    const { codecell, policy } = await open(audit, { env: { API_KEY: secret } }, { value });
    const session = await codecell.openSession({ id: "one" });
    const long = `1 or ${"#".repeat(64 * 1024 - 9)}${secret}`;
    await session.get("rows");
    await session.get("__import__('os').getpid()");
    await session.preview(long).catch(() => {}); // the fake has no previews
    await session.getJson("fail()", { onBytes }).catch(() => {});
    await codecell.close();
    const code = "__import__('os').getpid()";
    const codeHash = createHash("sha256").update(code).digest("hex");
    const expressions = audit.events.filter(({ type }) => type.startsWith("expression."));
    expect(expressions).toMatchObject([
      { session: "one", runner: "wasm", policy: policyHash(policy), codeHash, codeBytes: 25, code, timeoutMs: 30_000 },
      { session: "one", status: "ok", bytes: 2 },
      { codeBytes: Buffer.byteLength(long), isCodeCut: true },
      { status: "ok" },
      { code: "fail()" },
      { status: "failed", error: "too_large", bytes: 0 },
    ]);
    expect(JSON.stringify(audit.events)).not.toContain("hunter2");
  });

  test("an expression is not evaluated if a durable audit cannot record it", async () => {
    const audit = new FakeAudit({ durable: true });
    const evaluated: string[] = [];
    const value = (expression: string) => evaluated.push(expression);
    const { codecell } = await open(audit, {}, { value });
    const session = await codecell.openSession({ id: "one" });
    await session.get("1 + 1");
    audit.isFull = true;
    await expect(session.get("2 + 2")).rejects.toThrow();
    audit.isFull = false;
    await codecell.close();
    expect(evaluated).toEqual(["1 + 1"]);
  });

  test("the audit keeps the beginning of long code and of long lists of files, and says so", async () => {
    const audit = new FakeAudit();
    const secret = "hunter2hunter2";
    const { codecell, policy } = await open(audit, { env: { API_KEY: secret } });
    const recorded = new SessionAudit(audit, policy);
    const start = { session: "two", language: "python", runner: "process", policy: policyHash(policy), timeoutMs: 1 };
    // Control characters take six bytes each in JSON; a secret is where the code is cut.
    const codes = ["\u0001".repeat(2 ** 21), `${"#".repeat(64 * 1024 - 5)}${secret}${"x".repeat(100_000)}`];
    codes.forEach((code, run) => void recorded.runStarted({ ...start, run, code }));
    const result = await (await codecell.openSession()).run("1");
    const artifacts = Array.from({ length: 1_000 }, (_, n) => {
      return { name: `${n}${"n".repeat(200)}`, size: 1, mimeType: "text/plain", sha256: "0".repeat(64), modifiedMs: 0 };
    });
    recorded.runEnded("two", 1, { ...result, artifacts }, Promise.resolve({ usage: undefined, cpuBeforeMs: 0 }));
    await codecell.close();
    const started = audit.of("run.started").filter(({ session }) => session === "two");
    const [padded, cut] = started;
    expect(padded).toMatchObject({ codeBytes: 2 ** 21, isCodeCut: true });
    for (const event of started) expect(JSON.stringify(event).length).toBeLessThan(66_000);
    expect(cut?.code?.replaceAll("#", "")).toBe("[env ");
    const ended = audit.of("run.ended").find(({ session }) => session === "two");
    expect((ended?.files.length ?? 0) + (ended?.filesUnlisted ?? 0)).toBe(1_000);
    expect(ended?.files.length).toBeLessThan(400);
  });

  test("the audit lists the hosts that a run reached, with byte counts, and the hosts that were denied", async () => {
    const audit = new FakeAudit();
    const { codecell, policy } = await open(audit);
    const result = await (await codecell.openSession()).run("1");
    const reached = { host: "files.test", port: 443, requests: 2, sentBytes: 10, receivedBytes: 500, failures: 0 };
    const refused = { host: "else.test", port: 80, requests: 1, reason: "not on the allowlist", remedy: "name it" };
    const egress = { allowed: [reached], denied: [refused], more: 0, sentBytes: 0, receivedBytes: 0 };
    new SessionAudit(audit, policy).runEnded(
      "two",
      1,
      { ...result, egress },
      Promise.resolve({ usage: undefined, cpuBeforeMs: 0 }),
    );
    await codecell.close();
    expect(audit.of("egress.allowed")).toMatchObject([{ session: "two", host: "files.test", port: 443 }]);
    expect(audit.of("egress.denied")).toMatchObject([{ host: "else.test", reason: "not on the allowlist" }]);
    expect(audit.of("run.ended")).toContainEqual(
      expect.objectContaining({ session: "two", network: [{ host: "files.test", bytesIn: 500, bytesOut: 10 }] }),
    );
  });

  test("the audit waits only once for a cell that does not report its usage, however many runs end", async () => {
    const audit = new FakeAudit();
    let asked = 0;
    const usage = () => {
      asked++;
      return new Promise<never>(() => {});
    };
    const { codecell } = await open(audit, {}, { usage });
    const session = await codecell.openSession();
    for (const code of ["1", "2", "3", "4"]) await session.run(code);
    await codecell.close();
    expect(audit.of("run.ended")).toHaveLength(4);
    expect(asked).toBe(1);
  });

  test("the audit contains no code if audit.code is hash", async () => {
    const audit = new FakeAudit();
    const { codecell } = await open(audit, { audit: { code: "hash" } });
    await (await codecell.openSession()).run("secret = 1");
    await codecell.close();
    expect(JSON.stringify(audit.events)).not.toContain("secret");
    expect(audit.of("run.started")).toMatchObject([{ codeBytes: 10 }]);
  });

  test("the audit contains the number of arguments, but neither the arguments nor standard input", async () => {
    const audit = new FakeAudit();
    const { codecell } = await open(audit);
    const session = await codecell.openSession();
    await session.run("x", { args: ["hunter2", "b"], file: "hunter2.py", stdin: "hunter2" });
    await session.run("x");
    await codecell.close();
    expect(audit.of("run.started").map(({ args }) => args)).toEqual([2, undefined]);
    expect(JSON.stringify(audit.events)).not.toContain("hunter2");
  });

  test("the audit contains the name of an exception but not its message", async () => {
    const audit = new FakeAudit();
    const error = { name: "ValueError", message: "the key is hunter2", traceback: "hunter2" };
    const { codecell } = await open(audit, {}, { program: () => ({ status: "error", error }) });
    await (await codecell.openSession()).run("x");
    await codecell.close();
    expect(audit.of("run.ended")).toMatchObject([{ error: "ValueError" }]);
    expect(JSON.stringify(audit.events)).not.toContain("hunter2");
  });

  test("the audit records that an interpreter was lost", async () => {
    const audit = new FakeAudit();
    const { codecell } = await open(audit, {}, { program: () => ({ status: "crashed", state: "lost" }) });
    await (await codecell.openSession({ id: "s" })).run("x");
    await codecell.close();
    expect(audit.of("session.recovered")).toEqual([{ type: "session.recovered", session: "s", run: 1, state: "lost" }]);
  });

  test("the audit records the end of a run that was running when the session was closed", async () => {
    const audit = new FakeAudit();
    const { codecell } = await open(audit, {}, { program: ({ interrupted }) => interrupted.then(() => ({})) });
    const session = await codecell.openSession();
    const run = session.run("forever");
    await session.close();
    expect(await run).toMatchObject({ status: "cancelled" });
    expect(audit.types().slice(-2)).toEqual(["session.recovered", "session.closed"]);
    expect(audit.of("run.ended")).toMatchObject([{ status: "cancelled" }]);
    await codecell.close();
  });

  test("nothing is recorded if the policy turns the audit off or the program passes none", async () => {
    const audit = new FakeAudit();
    const { codecell } = await open(audit, { audit: { enabled: false } });
    await (await codecell.openSession()).run("x");
    await codecell.close();
    expect(audit.events).toEqual([]);
    const silent = await LiveSessions.open({
      policy: parsePolicy({}),
      runners: [new FakeRunner()],
      audit: silentAudit,
    });
    expect(silent.audit).toBeUndefined();
    await silent.close();
  });
});

describe("a durable audit", () => {
  const durable: PolicyInput = { audit: { durable: true } };

  test("a durable audit is on disk before a run starts and before its result is returned", async () => {
    const audit = new FakeAudit({ durable: true });
    const program = () => {
      audit.steps.push("program");
      return {};
    };
    const { codecell } = await open(audit, durable, { program });
    const session = await codecell.openSession();
    await session.run("x");
    audit.steps.push("result");
    await codecell.close();
    const steps = ["run.started", "settled", "program", "run.ended", "settled", "result"];
    expect(audit.steps).toEqual(["session.opened", ...steps, "session.closed"]);
  });

  test("a durable audit that cannot be written refuses runs, and the session stays usable", async () => {
    const audit = new FakeAudit({ durable: true });
    let programs = 0;
    const program = () => {
      programs++;
      return {};
    };
    const { codecell } = await open(audit, durable, { program });
    const session = await codecell.openSession();
    audit.isFull = true;
    await expect(session.run("x")).rejects.toMatchObject({ code: "audit_failed" });
    expect(programs).toBe(0);
    audit.isFull = false;
    expect(await session.run("y")).toMatchObject({ status: "ok" });
    expect(audit.of("run.ended")).toMatchObject([{ status: "failed", error: "audit_failed" }, { status: "ok" }]);
    await codecell.close();
  });

  test("a result is not returned if the durable audit cannot record it", async () => {
    const audit = new FakeAudit({ durable: true });
    const program = () => {
      audit.isFull = true;
      return {};
    };
    const { codecell } = await open(audit, durable, { program });
    await expect((await codecell.openSession()).run("x")).rejects.toMatchObject({ code: "audit_failed" });
    await codecell.close();
  });

  test("an interrupt is delivered if it arrives while the durable audit is still being written", async () => {
    const audit = new FakeAudit({ durable: true });
    const program: FakeOptions["program"] = ({ interrupted }) => interrupted.then(() => ({ status: "interrupted" }));
    const { codecell } = await open(audit, durable, { program });
    const run = (await codecell.openSession()).run("forever");
    run.interrupt();
    expect(await run).toMatchObject({ status: "interrupted" });
    await codecell.close();
  });

  test("a policy with audit.durable is refused if the program passes no durable audit", async () => {
    const policy = parsePolicy(durable);
    for (const audit of [undefined, silentAudit, new FakeAudit()]) {
      const opening = LiveSessions.open({ policy, runners: [new FakeRunner()], ...(audit ? { audit } : {}) });
      await expect(opening).rejects.toMatchObject({ code: "policy_refused", details: { rule: "audit.durable" } });
    }
  });
});
