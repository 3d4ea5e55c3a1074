import { appendFile, mkdtemp, readFile, rm, stat, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ClientScript, scriptedLmClient } from "../../../test/fakes/scripted-lm-client.ts";
import { aborted } from "../../lib/waiting/aborted.ts";
import { Budget, type BudgetOptions } from "../budget/budget.ts";
import type { LmCallEvent } from "../calls/call-event.ts";
import { type CallOptions, LmGateway } from "../calls/gateway.ts";
import type { LmRequest } from "../client.ts";
import { failureError } from "../clients/failure.ts";
import { worstCase } from "../money/prices.ts";
import { Tape } from "./tape.ts";

const price = { input: 2, output: 10, cacheRead: 0.1, cacheWrite: 2.5 };
const rejected = failureError("rejected", { reason: "rejected", isRetryable: false, mayBeCharged: false });
const ask = (text: string, more: Partial<LmRequest> = {}): LmRequest => ({
  ...{ model: "m", system: "Be brief", messages: [{ role: "user", text }], maxTokens: 100, ...more },
});

let directory = "";
let files = 0;
const newPath = () => join(directory, `${files++}.jsonl`);
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "codecell-tape-"));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

function run(tape: Tape, script?: ClientScript, options: Partial<BudgetOptions> = {}) {
  const client = script && scriptedLmClient(script);
  const events: LmCallEvent[] = [];
  const gateway = new LmGateway({
    ...(client && { clientFor: () => client }),
    ...{ tape, prices: { m: price }, onCall: (event) => void events.push(event) },
  });
  const budget = new Budget({ caps: {}, ...options });
  const call = { budget, signal: new AbortController().signal, purpose: "sub", parent: "run-1" } satisfies CallOptions;
  const texts = async (...prompts: string[]) =>
    (
      await gateway.completeAll(
        prompts.map((text) => ask(text)),
        call,
      )
    ).map((item) => (item.ok ? item.response.text : item.error.message));
  return { client, gateway, budget, call, events, texts };
}

/** Records answers to these prompts, one after the other. */
async function recording(...prompts: string[]): Promise<string> {
  const path = newPath();
  await using tape = await Tape.record(path);
  const { gateway, call } = run(tape, ({ messages }, index) => `${messages[0]?.text} ${index}`);
  for (const prompt of prompts) await gateway.complete(ask(prompt), call);
  return path;
}

describe("replay", () => {
  test("gives the same answers, failures and spend without a model", async () => {
    const path = newPath();
    const script: ClientScript = ({ messages }) => {
      if (messages[0]?.text === "bad") throw rejected;
      return `answer to ${messages[0]?.text}`;
    };
    const tape = await Tape.record(path);
    const first = run(tape, script);
    const recorded = [await first.texts("a", "bad", "b"), await first.texts("c", "a")];
    await tape[Symbol.asyncDispose]();
    await using replay = await Tape.replay(path);
    const second = run(replay);
    expect([await second.texts("a", "bad", "b"), await second.texts("c", "a")]).toEqual(recorded);
    expect(second.budget.snapshot()).toEqual(first.budget.snapshot());
    expect(second.events.map(({ source }) => source)).toEqual(Array(5).fill("tape"));
    expect(replay.unused).toBe(0);
  });

  test("gives the recorded spend although prices have changed", async () => {
    await using tape = await Tape.replay(await recording("a"));
    const budget = new Budget({ caps: { usd: 1 } });
    const { call } = run(tape);
    await new LmGateway({ tape }).complete(ask("a"), { ...call, budget });
    expect(budget.snapshot().spent.usd).toBeGreaterThan(0);
  });

  test("refuses calls over a lower cap, as a model would be refused", async () => {
    await using tape = await Tape.replay(await recording("a", "b"));
    const { gateway, call } = run(tape, undefined, { caps: { calls: 1 } });
    await gateway.complete(ask("a"), call);
    await expect(gateway.complete(ask("b"), call)).rejects.toMatchObject({ code: "budget_exhausted" });
  });

  test("gives identical requests their answers in the order of the recording", async () => {
    await using tape = await Tape.replay(await recording("same", "other", "same"));
    const { gateway, call } = run(tape);
    const texts = [];
    for (const prompt of ["same", "same", "other"]) texts.push((await gateway.complete(ask(prompt), call)).text);
    expect(texts).toEqual(["same 0", "same 2", "other 1"]);
  });

  test("replays a budget that was exhausted, at the same call", async () => {
    const path = newPath();
    const caps = { tokens: worstCase(ask("a"), price).tokens + 4 };
    const tape = await Tape.record(path);
    const recorded = await run(tape, () => "x".repeat(40), { caps }).texts("a", "b", "c");
    await tape[Symbol.asyncDispose]();
    expect(recorded.filter((text) => text.includes("budget"))).toHaveLength(2);
    await using replay = await Tape.replay(path);
    expect(await run(replay, undefined, { caps }).texts("a", "b", "c")).toEqual(recorded);
  });
});

describe("drift", () => {
  test.each([
    ["another prompt", ask("changed"), /message 1 differs \(7 characters now, 1 characters then\)/],
    ["another model", ask("a", { model: "n" }), /the model is "n", not "m"/],
    ["another limit", ask("a", { maxTokens: 5 }), /maxTokens is 5, not 100/],
    ["another system prompt", ask("a", { system: "Be long" }), /the system prompt differs/],
    ["a temperature", ask("a", { temperature: 0 }), /the temperature is 0, not null/],
    ["a stop sequence", ask("a", { stop: ["x"] }), /stop is \["x"\], not \[\]/],
    ["more messages", ask("a", { messages: [...ask("a").messages, ...ask("b").messages] }), /it has 2 messages, not 1/],
  ])("%s is named, with the call that differs", async (_, request, difference) => {
    await using tape = await Tape.replay(await recording("a", "b"));
    const { gateway, call } = run(tape);
    const error = await gateway.complete(request, call).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      code: "replay_drift",
      message: expect.stringContaining("the next recorded call (number 1, sub of run-1)"),
    });
    expect((error as Error).message).toMatch(difference);
  });

  test("a call after the last recorded one is named as such", async () => {
    await using tape = await Tape.replay(await recording("a"));
    const { gateway, call } = run(tape);
    await gateway.complete(ask("a"), call);
    await expect(gateway.complete(ask("a"), call)).rejects.toThrow(/every recorded call has been replayed/);
  });

  test("is an error of a whole batch, not a failed item", async () => {
    await using tape = await Tape.replay(await recording("a"));
    const { gateway, call } = run(tape);
    await expect(gateway.completeAll([ask("a"), ask("b")], call)).rejects.toMatchObject({ code: "replay_drift" });
  });

  test("a cache breakpoint makes no difference: it does not change the answer", async () => {
    await using tape = await Tape.replay(await recording("a"));
    const { gateway, call } = run(tape);
    expect((await gateway.complete(ask("a", { cachePrefix: true }), call)).text).toBe("a 0");
  });
});

describe("resume", () => {
  test("replays what is on the tape, then calls the model and records", async () => {
    const path = await recording("a", "b");
    const tape = await Tape.resume(path);
    const { texts, client, budget } = run(tape, ["live"]);
    expect(await texts("a")).toEqual(["a 0"]);
    expect(await texts("b", "c")).toEqual(["b 1", "live"]);
    expect(client?.requests).toHaveLength(1);
    expect(budget.snapshot().spent.calls).toBe(3);
    await tape[Symbol.asyncDispose]();
    await using replay = await Tape.replay(path);
    expect(await run(replay).texts("a", "b", "c")).toEqual(["a 0", "b 1", "live"]);
  });

  test.each(["in the middle of a line", "before its line feed"])(
    "cuts off a line that a killed process left %s",
    async (where) => {
      const path = await recording("a", "b");
      const { size } = await stat(path);
      await truncate(path, where === "before its line feed" ? size - 1 : size - 30);
      const tape = await Tape.resume(path);
      const { texts, client, budget } = run(tape, ["again"]);
      expect(await texts("a", "b")).toEqual(["a 0", "again"]);
      expect(client?.requests).toHaveLength(1);
      // the first call of "b" was sent, and nobody knows what it cost: it counts as its worst case
      expect(budget.snapshot().spent).toMatchObject({
        calls: 3,
        tokens: 4 + 3 + 2 + worstCase(ask("b"), price).tokens,
      });
      await tape[Symbol.asyncDispose]();
      await using replay = await Tape.replay(path);
      expect(await run(replay).texts("a", "b")).toEqual(["a 0", "again"]);
    },
  );

  test("never forgets what was spent, wherever in the file the process was killed", async () => {
    const whole = await readFile(await recording("a", "b", "c"));
    for (let length = 0; length <= whole.length; length += 41) {
      const path = newPath();
      await writeFile(path, whole.subarray(0, length));
      const sentBefore =
        whole
          .subarray(0, length)
          .toString()
          .match(/"type":"sent".*\n/g)?.length ?? 0;
      await using tape = await Tape.resume(path);
      const { texts, budget, client } = run(tape, () => "live");
      await texts("a", "b", "c");
      const { spent, held } = budget.snapshot();
      expect(spent.calls).toBe(sentBefore + (client?.requests.length ?? 0));
      expect(spent.tokens).toBeGreaterThanOrEqual(12); // three calls of four tokens
      expect(held.tokens).toBe(0);
    }
  });

  test("counts every attempt that may have been charged, if the process was killed in the middle of a later one", async () => {
    const path = newPath();
    const timeout = failureError("timeout", { reason: "timeout", isRetryable: true, mayBeCharged: true });
    const first = await Tape.record(path);
    const client = scriptedLmClient([timeout, timeout, "late"]);
    const timer = { random: () => 0, sleep: async () => {} };
    const gateway = new LmGateway({ tape: first, clientFor: () => client, prices: { m: price }, timer });
    await gateway.complete(ask("a"), run(first).call);
    await first[Symbol.asyncDispose]();
    const killed = (await readFile(path, "utf8")).split('{"v":1,"type":"done"')[0] ?? "";
    await writeFile(path, killed);
    await using tape = await Tape.resume(path);
    expect(tape.takeLost()).toMatchObject({ calls: 1, tokens: 3 * worstCase(ask("a"), price).tokens });
  });

  test("charges a lost call at the same place when the resumed run is replayed or resumed again", async () => {
    const path = await recording("a", "b");
    const { size } = await stat(path);
    await truncate(path, size - 30);
    const left = async (tape: Tape, script?: ClientScript) => {
      const { gateway, call, budget } = run(tape, script, { caps: { tokens: 10_000 } });
      const amounts: (number | undefined)[] = [];
      for (const prompt of ["a", "b", "c"]) {
        await gateway.complete(ask(prompt), call);
        amounts.push(budget.snapshot().left.tokens);
      }
      await tape[Symbol.asyncDispose]();
      return amounts;
    };
    const resumed = await left(await Tape.resume(path), ["b again", "c"]);
    expect(resumed[0]).toBe(10_000 - 4);
    expect(resumed[1]).toBeLessThan(10_000 - worstCase(ask("b"), price).tokens);
    expect(await left(await Tape.replay(path))).toEqual(resumed);
    expect(await left(await Tape.resume(path))).toEqual(resumed);
  });

  test("makes calls again that failed at the end, also after a second interruption, and counts what they cost", async () => {
    const path = newPath();
    const timeout = failureError("timeout", { reason: "timeout", isRetryable: false, mayBeCharged: true });
    const first = await Tape.record(path);
    await run(first, ["one", timeout]).texts("a", "b");
    await first[Symbol.asyncDispose]();
    for (const _ of ["first", "second"]) {
      const tape = await Tape.resume(path);
      const { texts, budget } = run(tape, ["two"]);
      expect(await texts("a", "b")).toEqual(["one", "two"]);
      expect(budget.snapshot().spent).toMatchObject({ calls: 3 });
      expect(budget.snapshot().spent.tokens).toBeGreaterThan(worstCase(ask("b"), price).tokens);
      await tape[Symbol.asyncDispose]();
    }
  });

  test("replays failures that the program has already worked with", async () => {
    const path = newPath();
    const first = await Tape.record(path);
    const recorded = run(first, [rejected, "one"]);
    await recorded.texts("a");
    await recorded.texts("b");
    await first[Symbol.asyncDispose]();
    await using tape = await Tape.resume(path);
    expect(await run(tape, []).texts("a", "b")).toEqual(["rejected", "one"]);
  });

  test("makes aborted calls again, wherever they are", async () => {
    const path = newPath();
    const first = await Tape.record(path);
    const recorded = run(first, ["never", "one"]);
    const controller = new AbortController();
    const stopped = scriptedLmClient((_request, _index, signal) => {
      controller.abort(new Error("enough"));
      throw aborted(signal);
    });
    const gateway = new LmGateway({ tape: first, clientFor: () => stopped });
    await expect(gateway.complete(ask("a"), { ...recorded.call, signal: controller.signal })).rejects.toThrow();
    await recorded.texts("b");
    await first[Symbol.asyncDispose]();
    await using tape = await Tape.resume(path);
    expect(await run(tape, ["two"]).texts("a", "b")).toEqual(["two", "never"]);
  });
});

describe("the file", () => {
  test("is readable only by its owner, and has neither prompts nor system prompts", async () => {
    const path = newPath();
    await using tape = await Tape.record(path);
    await run(tape, ["the answer"]).texts("the secret prompt");
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    const text = await readFile(path, "utf8");
    expect(text).toContain("the answer");
    expect(text).not.toMatch(/secret prompt|Be brief/);
  });

  test("is never overwritten by a recording", async () => {
    const path = await recording("a");
    await expect(Tape.record(path)).rejects.toMatchObject({ code: "usage", hint: expect.stringContaining("resume") });
  });

  test("that does not exist, or is no tape, is refused with its name", async () => {
    const path = newPath();
    await expect(Tape.replay(path)).rejects.toMatchObject({ code: "file_missing" });
    await writeFile(path, '{"v":1}\n');
    await expect(Tape.replay(path)).rejects.toThrow(`${path} is not a valid tape: line 1 cannot be read`);
    await expect(Tape.resume(path)).rejects.toThrow("line 1");
  });

  test("with a damaged line in the middle is refused, not skipped", async () => {
    const path = await recording("a");
    await appendFile(path, "garbage\n");
    await appendFile(path, await readFile(await recording("b"), "utf8"));
    await expect(Tape.resume(path)).rejects.toMatchObject({ code: "usage" });
  });

  test("that cannot be written fails the call, which is settled and reported", async () => {
    const tape = await Tape.record(newPath());
    await tape[Symbol.asyncDispose]();
    const { gateway, call, budget, events } = run(tape, ["ok"]);
    await expect(gateway.complete(ask("a"), call)).rejects.toThrow();
    expect(events).toHaveLength(1);
    expect(budget.snapshot().held).toEqual({ calls: 0, tokens: 0, usd: 0 });
  });
});
