import { describe, expect, test } from "vitest";
import { ask, price, setUp } from "../../../test/fakes/scripted-gateway.ts";
import type { ClientScript } from "../../../test/fakes/scripted-lm-client.ts";
import { CodecellError } from "../../lib/errors.ts";
import { aborted } from "../../lib/waiting/aborted.ts";
import { Semaphore } from "../../lib/waiting/semaphore.ts";
import type { LmUsage } from "../client.ts";
import { failureError } from "../clients/failure.ts";
import { worstCase } from "../money/prices.ts";
import { noUsage, totalTokens } from "../usage.ts";

const overloaded = failureError("overloaded", { reason: "overloaded", isRetryable: true, mayBeCharged: false });
const timeout = failureError("timeout", { reason: "timeout", isRetryable: true, mayBeCharged: true });
const rejected = failureError("rejected", { reason: "rejected", isRetryable: false, mayBeCharged: false });

describe("a call through the gateway", () => {
  test("is answered, settled at what it really cost, and reported once", async () => {
    const { gateway, budget, events, call } = setUp(["Hello"], { caps: { usd: 1 } });
    const request = ask("x".repeat(400));
    const answer = await gateway.complete(request, call);
    expect(answer).toMatchObject({ text: "Hello", stop: "end", source: "model" });
    const usd = (100 * 2 + 2 * 10) / 1e6;
    expect(budget.snapshot()).toMatchObject({
      spent: { calls: 1, tokens: 102 },
      held: { calls: 0, tokens: 0, usd: 0 },
    });
    expect(budget.snapshot().spent.usd).toBeCloseTo(usd, 9);
    expect(events).toEqual([
      expect.objectContaining({
        ...{ purpose: "sub", parent: "run-1", source: "model", attempts: 1, request },
        held: worstCase(request, price),
        outcome: { response: expect.objectContaining({ text: "Hello" }) },
      }),
    ]);
  });

  test("is sent as it was when it was checked, although the caller changes it meanwhile", async () => {
    const { gateway, client, call } = setUp(["ok"], { maxPromptChars: 100 });
    const messages = [{ role: "user" as const, text: "small" }];
    const answer = gateway.complete({ model: "m", messages, maxTokens: 10 }, call);
    messages.push({ role: "user", text: "x".repeat(10_000) });
    await answer;
    expect(client.requests[0]?.messages).toEqual([{ role: "user", text: "small" }]);
  });

  test("times out with all its retries together, is not sent again, and counts as its worst case", async () => {
    const hanging: ClientScript = (_request, index, signal) =>
      index === 0
        ? Promise.reject(overloaded)
        : new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(aborted(signal))));
    const { gateway, client, budget, call } = setUp(hanging, { callTimeoutMs: 30 });
    await expect(gateway.complete(ask("x"), call)).rejects.toMatchObject({
      ...{ code: "model_failed", message: "the model did not answer within 30 ms", details: { reason: "timeout" } },
    });
    expect(client.requests).toHaveLength(2);
    expect(budget.snapshot()).toMatchObject({ spent: worstCase(ask("x"), price), held: { tokens: 0 } });
  });

  test("does not time out while it waits for a slot", async () => {
    let answer: (text: string) => void = () => {};
    const script: ClientScript = (_request, index) =>
      index === 0
        ? new Promise((resolve) => {
            answer = resolve;
          })
        : "second";
    const slots = new Semaphore(1);
    const busy = setUp(script, { sharedSlots: slots });
    const waiting = setUp(() => "second", { sharedSlots: slots, callTimeoutMs: 20 });
    const first = busy.gateway.complete(ask("a"), busy.call);
    const second = waiting.gateway.complete(ask("b"), waiting.call);
    await new Promise((resolve) => setTimeout(resolve, 60));
    answer("first");
    expect([(await first).text, (await second).text]).toEqual(["first", "second"]);
  });

  test("is refused before anything is held or sent if its model is not allowed", async () => {
    const { gateway, client, call } = setUp([], { models: ["openai/a", "claude-b"] });
    await expect(gateway.complete(ask("x", { model: "c" }), call)).rejects.toMatchObject({
      ...{
        code: "model_unavailable",
        message: 'the model "c" is not allowed',
        hint: "use one of these: openai/a, claude-b",
      },
    });
    expect(client.requests).toEqual([]);
  });

  test("may name an allowed model with or without its provider", async () => {
    const { gateway, call } = setUp(["1", "2"], { models: ["openai/a", "claude-b"] });
    await gateway.complete(ask("x", { model: "a" }), call);
    await gateway.complete(ask("x", { model: "anthropic/claude-b" }), call);
  });

  test("is refused if its prompt is too large, with the number of parts to split it into", async () => {
    const { gateway, client, call } = setUp([], { maxPromptChars: 1000 });
    await expect(gateway.complete(ask("x".repeat(2500)), call)).rejects.toMatchObject({
      ...{ code: "too_large", message: "the prompt has 2,500 characters; the limit is 1,000" },
      hint: expect.stringContaining("3 or more parts"),
    });
    expect(client.requests).toEqual([]);
  });

  test.each([{ maxTokens: 0 }, { maxTokens: 1.5 }, { maxTokens: Number.NaN }, { temperature: -1 }, { messages: [] }])(
    "is refused if it is not valid: %j",
    async (wrong) => {
      const { gateway, call } = setUp([]);
      await expect(gateway.complete(ask("x", wrong), call)).rejects.toMatchObject({ code: "usage" });
    },
  );

  test("is refused under a money cap if its model has no price", async () => {
    const { gateway, client, call } = setUp([], { caps: { usd: 1 } });
    await expect(gateway.complete(ask("x", { model: "unpriced" }), call)).rejects.toMatchObject({
      code: "model_unavailable",
    });
    expect(client.requests).toEqual([]);
  });

  test("has unknown cost without a price, and null says so", async () => {
    const { gateway, events, call } = setUp(["ok"]);
    await gateway.complete(ask("x", { model: "unpriced" }), call);
    expect(events[0]?.usd).toBeNull();
  });

  test("is refused if its worst case exceeds the budget, and nothing is sent", async () => {
    const { gateway, client, events, call } = setUp([], { caps: { tokens: 300 } });
    await expect(gateway.complete(ask("x"), call)).rejects.toMatchObject({ code: "budget_exhausted" });
    expect(client.requests).toEqual([]);
    expect(events).toEqual([
      expect.objectContaining({ source: undefined, attempts: 0, charged: { calls: 0, tokens: 0, usd: 0 } }),
    ]);
  });

  test("may use the final reserve if it extracts or is the last turn", async () => {
    const { gateway, call } = setUp(["1", "2"], { caps: { calls: 2 }, finalReserve: { calls: 2 } });
    await expect(gateway.complete(ask("x"), call)).rejects.toMatchObject({ code: "budget_exhausted" });
    await gateway.complete(ask("x"), { ...call, purpose: "root", isFinal: true });
    await gateway.complete(ask("x"), { ...call, purpose: "extract" });
  });

  test("fails with the callback's error if the call cannot be audited, after it was settled", async () => {
    const failure = new CodecellError("audit_failed", "the disk is full");
    const onCall = () => {
      throw failure;
    };
    const { gateway, budget, call } = setUp(["ok"], { onCall });
    await expect(gateway.complete(ask("x"), call)).rejects.toBe(failure);
    expect(budget.snapshot()).toMatchObject({ spent: { calls: 1 }, held: { calls: 0, tokens: 0 } });
  });

  test("an unknown failure of a client is an internal error, without keys and without what is attached to it", async () => {
    const secret = "sk-ant-0123456789abcdefghij";
    const error = Object.assign(new Error(`failed with ${secret}`), { headers: { key: secret } });
    const { gateway, call } = setUp([error]);
    const thrown = await gateway.complete(ask("x"), call).catch((one: unknown) => one);
    expect(thrown).toMatchObject({ code: "internal", message: "a client for models failed: failed with [key]" });
    expect((thrown as Error).cause).toBeUndefined();
  });
});

describe("retries", () => {
  test("a call that was not charged is repeated under the same hold, and counts once", async () => {
    const { gateway, budget, events, call } = setUp([overloaded, overloaded, "ok"], {
      caps: { calls: 1, tokens: 1000 },
    });
    expect((await gateway.complete(ask("x"), call)).text).toBe("ok");
    expect(budget.snapshot().spent).toMatchObject({ calls: 1, tokens: 2 });
    expect(events[0]?.attempts).toBe(3);
  });

  test("an attempt that may have been charged costs its worst case, and the next one needs a hold of its own", async () => {
    const request = ask("x");
    const { tokens } = worstCase(request, price);
    const { gateway, budget, events, call } = setUp([timeout, "ok"], { caps: { calls: 1, tokens: 2 * tokens } });
    await gateway.complete(request, call);
    expect(budget.snapshot().spent).toMatchObject({ calls: 1, tokens: tokens + 2 });
    expect(events[0]?.charged).toMatchObject({ calls: 1, tokens: tokens + 2 });
  });

  test("a call is not repeated if the budget does not cover another attempt, and its own failure is the error", async () => {
    const request = ask("x");
    const { tokens } = worstCase(request, price);
    const { gateway, client, budget, call } = setUp([timeout, "ok"], { caps: { tokens: 2 * tokens - 1 } });
    await expect(gateway.complete(request, call)).rejects.toBe(timeout);
    expect(client.requests).toHaveLength(1);
    expect(budget.snapshot()).toMatchObject({ spent: { calls: 1, tokens }, held: { calls: 0, tokens: 0 } });
  });

  test("a call that failed for good without being charged counts as a call, and costs nothing", async () => {
    const { gateway, budget, events, call } = setUp([rejected]);
    await expect(gateway.complete(ask("x"), call)).rejects.toBe(rejected);
    expect(budget.snapshot()).toMatchObject({ spent: { calls: 1, tokens: 0, usd: 0 }, held: { calls: 0, tokens: 0 } });
    expect(events[0]).toMatchObject({ outcome: { error: rejected }, charged: { calls: 1, tokens: 0, usd: 0 } });
  });

  test.each([
    ["negative", { inputTokens: -5000, outputTokens: 10 }],
    ["not a number", { inputTokens: Number.NaN, outputTokens: 10 }],
    ["endless", { inputTokens: 5, outputTokens: Number.POSITIVE_INFINITY }],
    ["beyond what a budget counts", { inputTokens: Number.MAX_SAFE_INTEGER, outputTokens: 10 }],
    ["a fraction", { inputTokens: 0.001, outputTokens: 0.001 }],
    ["zero", { inputTokens: 0, outputTokens: 0 }],
    ["incomplete", { inputTokens: undefined, outputTokens: 1 }],
    ["null", null],
  ])("an answer whose usage is %s costs its worst case", async (_what, counts) => {
    const usage = (counts === null ? null : { ...noUsage, ...counts }) as LmUsage;
    const { gateway, budget, events, call } = setUp([{ text: "ok", usage }], { caps: { tokens: 100_000 } });
    const answer = await gateway.complete(ask("x"), call);
    const { tokens, usd } = worstCase(ask("x"), price);
    expect(answer).toMatchObject({ text: "ok", isUsageEstimated: true, charged: { calls: 1, tokens } });
    expect(totalTokens(answer.usage)).toBe(tokens);
    const { spent, held, overrun } = budget.snapshot();
    expect({ spent, held, overrun }).toMatchObject({
      ...{ spent: { calls: 1, tokens }, held: { calls: 0, tokens: 0, usd: 0 }, overrun: undefined },
    });
    expect(spent.usd).toBeCloseTo(usd, 9);
    expect(events[0]?.charged.tokens).toBe(tokens);
  });

  test("a provider that charges more than the worst case closes the budget", async () => {
    const usage = { ...noUsage, inputTokens: 5000 };
    const { gateway, budget, call } = setUp([{ text: "ok", usage }], { caps: { tokens: 100_000 } });
    expect((await gateway.complete(ask("x"), call)).text).toBe("ok");
    expect(budget.snapshot()).toMatchObject({ spent: { tokens: 5000 }, overrun: { kind: "tokens", charged: 5000 } });
    await expect(gateway.complete(ask("y"), call)).rejects.toThrow(/more than its worst case/);
  });
});

describe("cancelling", () => {
  test("drops queued calls without cost, and charges the running one its worst case", async () => {
    const started = deferred();
    const controller = new AbortController();
    const { gateway, client, budget, call } = setUp(
      (_request, _index, signal) => {
        started.resolve();
        return new Promise((_, reject) => signal.addEventListener("abort", () => reject(aborted(signal))));
      },
      { concurrency: 1 },
    );
    const options = { ...call, signal: controller.signal };
    const requests = [ask("1"), ask("2"), ask("3")];
    const batch = gateway.completeAll(requests, options);
    await started.promise;
    controller.abort(new Error("enough"));
    expect((await batch).map((item) => !item.ok && item.error.code)).toEqual(["aborted", "aborted", "aborted"]);
    expect(client.requests).toHaveLength(1);
    expect(budget.snapshot().spent.calls).toBe(1);
    expect(budget.snapshot().spent.tokens).toBe(worstCase(ask("1"), price).tokens);
    expect(budget.snapshot().held).toEqual({ calls: 0, tokens: 0, usd: 0 });
  });
});

function deferred() {
  let resolve = () => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve: () => resolve() };
}
