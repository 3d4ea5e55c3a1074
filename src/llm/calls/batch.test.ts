import { describe, expect, test } from "vitest";
import { ask, price, setUp } from "../../../test/fakes/scripted-gateway.ts";
import { CodecellError } from "../../lib/errors.ts";
import { Semaphore } from "../../lib/waiting/semaphore.ts";
import { failureError } from "../clients/failure.ts";
import { worstCase } from "../money/prices.ts";
import { noUsage } from "../usage.ts";

const rejected = failureError("rejected", { reason: "rejected", isRetryable: false, mayBeCharged: false });

describe("a batch", () => {
  test("keeps the order of the requests, however the answers come", async () => {
    const gates = [deferred(), deferred(), deferred()];
    const { gateway, call } = setUp(async (request, index) => {
      await gates[index]?.promise;
      return `answer to ${request.messages[0]?.text}`;
    });
    const batch = gateway.completeAll([ask("a"), ask("b"), ask("c")], call);
    for (const gate of gates.reverse()) gate.resolve();
    expect((await batch).map((item) => item.ok && item.response.text)).toEqual(
      ["a", "b", "c"].map((one) => `answer to ${one}`),
    );
  });

  test("never has more calls in flight than the concurrency, and uses all of it", async () => {
    const { gateway, client, call } = setUp(() => new Promise((resolve) => setImmediate(() => resolve("ok"))), {
      concurrency: 3,
    });
    await gateway.completeAll(
      Array.from({ length: 20 }, (_, n) => ask(`${n}`)),
      call,
    );
    expect(client.peakInFlight).toBe(3);
  });

  test("of many calls that wait on one signal causes no warning of Node", async () => {
    const warnings: string[] = [];
    const note = ({ message }: Error) => void warnings.push(message);
    process.on("warning", note);
    const { gateway, call } = setUp(() => new Promise((resolve) => setImmediate(() => resolve("ok"))));
    await gateway.completeAll(
      Array.from({ length: 50 }, (_, n) => ask(`${n}`)),
      call,
    );
    await new Promise((resolve) => setImmediate(resolve));
    process.off("warning", note);
    expect(warnings).toEqual([]);
  });

  test("shares slots with other gateways", async () => {
    const sharedSlots = new Semaphore(2);
    let [inFlight, peak] = [0, 0];
    const script = async () => {
      peak = Math.max(peak, ++inFlight);
      await new Promise((resolve) => setImmediate(resolve));
      inFlight--;
      return "ok";
    };
    const trees = [setUp(script, { sharedSlots }), setUp(script, { sharedSlots })];
    const requests = Array.from({ length: 10 }, (_, n) => ask(`${n}`));
    await Promise.all(trees.map(({ gateway, call }) => gateway.completeAll(requests, call)));
    expect(peak).toBe(2);
  });

  test("sends equal requests once, and charges them once", async () => {
    const { gateway, client, budget, call } = setUp(["A", "B"]);
    const items = await gateway.completeAll([ask("a"), ask("b"), ask("a"), ask("a")], call);
    expect(items.map((item) => item.ok && [item.response.text, item.duplicateOf])).toEqual([
      ["A", undefined],
      ["B", undefined],
      ["A", 0],
      ["A", 0],
    ]);
    expect(client.requests).toHaveLength(2);
    expect(budget.snapshot().spent.calls).toBe(2);
  });

  test("sends equal requests each time if their temperature asks for variety", async () => {
    const { gateway, client, call } = setUp(["A", "B"]);
    await gateway.completeAll([ask("a", { temperature: 1 }), ask("a", { temperature: 1 })], call);
    expect(client.requests).toHaveLength(2);
  });

  test("reports failures in place", async () => {
    const { gateway, call } = setUp(
      ({ messages }) => {
        if (messages[0]?.text === "bad") throw rejected;
        return "ok";
      },
      { maxPromptChars: 10 },
    );
    const items = await gateway.completeAll([ask("good"), ask("bad"), ask("much too long"), ask("bad")], call);
    expect(items.map((item) => (item.ok ? item.response.text : item.error.code))).toEqual([
      ...["ok", "model_failed", "too_large", "model_failed"],
    ]);
  });

  test("is refused as a whole if there are not enough calls for it, and sends nothing", async () => {
    const { gateway, client, budget, call } = setUp([], { caps: { calls: 2 } });
    await expect(gateway.completeAll([ask("a"), ask("b"), ask("c")], call)).rejects.toMatchObject({
      code: "budget_exhausted",
    });
    expect(client.requests).toEqual([]);
    expect(budget.snapshot().held.calls).toBe(0);
    expect(await gateway.completeAll([], call)).toEqual([]);
  });

  test("goes on as calls settle below their worst case, and never exceeds the cap", async () => {
    const worst = worstCase(ask("00"), price).tokens;
    const cap = 3 * worst;
    const { gateway, budget, call } = setUp(
      async () => {
        const { spent, held } = budget.snapshot();
        expect(spent.tokens + held.tokens).toBeLessThanOrEqual(cap);
        await new Promise((resolve) => setImmediate(resolve));
        return "ok";
      },
      { caps: { tokens: cap }, concurrency: 16 },
    );
    const requests = Array.from({ length: 30 }, (_, n) => ask(`${n + 10}`));
    expect((await gateway.completeAll(requests, call)).every(({ ok }) => ok)).toBe(true);
    expect(budget.snapshot().spent).toMatchObject({ calls: 30, tokens: 60 });
  });

  test("marks the calls that the budget does not cover, and spends no more than the cap", async () => {
    const usage = { ...noUsage, inputTokens: 200 };
    const { gateway, budget, call } = setUp(() => ({ text: "ok", usage }), { caps: { tokens: 1600 } });
    const items = await gateway.completeAll(
      Array.from({ length: 10 }, (_, n) => ask(`${n}`)),
      call,
    );
    // each may cost 629 tokens: after five calls of 200, another would not fit
    expect(items.filter(({ ok }) => ok)).toHaveLength(5);
    expect(items.flatMap((item) => (item.ok ? [] : [item.error.code]))).toEqual(Array(5).fill("budget_exhausted"));
    expect(budget.snapshot().spent).toMatchObject({ calls: 5, tokens: 1000 });
  });

  test("fails as a whole if a call cannot be audited", async () => {
    const failure = new CodecellError("audit_failed", "the disk is full");
    const { gateway, call } = setUp(["A", "B"], { onCall: () => Promise.reject(failure) });
    await expect(gateway.completeAll([ask("a"), ask("b")], call)).rejects.toBe(failure);
  });
});

function deferred() {
  let resolve = () => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve: () => resolve() };
}
