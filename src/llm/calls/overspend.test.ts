import { expect, test } from "vitest";
import { FakeRandom } from "../../../test/fakes/fake-random.ts";
import { scriptedLmClient } from "../../../test/fakes/scripted-lm-client.ts";
import { isThorough } from "../../../test/support/thorough.ts";
import { aborted } from "../../lib/waiting/aborted.ts";
import { Budget } from "../budget/budget.ts";
import type { LmRequest, LmUsage } from "../client.ts";
import { failureError } from "../clients/failure.ts";
import { cost } from "../money/prices.ts";
import { inputUpperBound, totalTokens } from "../usage.ts";
import { LmGateway } from "./gateway.ts";

const price = {
  ...{ input: 2, output: 10, cacheRead: 0.1, cacheWrite: 2.5 },
  longPrompt: { aboveTokens: 900, input: 4, output: 15, cacheRead: 0.2, cacheWrite: 5 },
};
const overloaded = failureError("overloaded", { reason: "overloaded", isRetryable: true, mayBeCharged: false });
const timeout = failureError("timeout", { reason: "timeout", isRetryable: true, mayBeCharged: true });
const truncated = failureError("truncated", { reason: "truncated", isRetryable: true, mayBeCharged: true });
const tick = () => new Promise((resolve) => setImmediate(resolve));

/** Any usage that a provider may have for this request. */
function randomUsage({ maxTokens, ...request }: LmRequest, random: FakeRandom): LmUsage {
  const input = random.below(2) === 0 ? inputUpperBound(request) : random.below(inputUpperBound(request));
  const output = random.below(2) === 0 ? maxTokens : random.below(maxTokens);
  const cacheWriteTokens = random.below(input + 1);
  const cacheReadTokens = random.below(input - cacheWriteTokens + 1);
  const inputTokens = input - cacheWriteTokens - cacheReadTokens;
  return { inputTokens, outputTokens: output, cacheReadTokens, cacheWriteTokens, reasoningTokens: 0 };
}

/**
 * A provider that charges when a request arrives, and then answers, fails, loses the answer or is left alone. Agents in a tree call it
 * at random, alone and in batches, and some are cancelled.
 */
async function play(seed: number) {
  const random = new FakeRandom(seed);
  const ledger = { tokens: 0, usd: 0, requests: 0 };
  const caps = {
    calls: 20 + random.below(60),
    tokens: 3_000 + random.below(40_000),
    usd: 0.01 + random.below(200) / 1000,
  };
  const budget = new Budget({ caps, finalReserve: { calls: 1, tokens: random.below(1500) } });
  const client = scriptedLmClient(async (request, _index, signal) => {
    ledger.requests++;
    const fate = random.below(8);
    if (fate === 0) throw overloaded;
    const usage = randomUsage(request, random);
    ledger.tokens += totalTokens(usage);
    ledger.usd += cost(usage, price);
    const { spent, held } = budget.snapshot();
    expect(spent.tokens + held.tokens, `seed ${seed}`).toBeLessThanOrEqual(caps.tokens);
    expect(ledger.tokens, `seed ${seed}: the provider's own account`).toBeLessThanOrEqual(caps.tokens);
    expect(ledger.usd, `seed ${seed}: the provider's own account`).toBeLessThanOrEqual(caps.usd);
    for (let n = random.below(3); n > 0; n--) await tick();
    if (signal.aborted) throw aborted(signal);
    if (fate === 1) throw timeout;
    if (fate === 2) throw truncated;
    return { text: "ok", usage };
  });
  const gateway = new LmGateway({
    ...{ clientFor: () => client, prices: { m: price }, concurrency: 1 + random.below(8) },
    timer: { random: () => 0, sleep: async () => void (await tick()) },
  });
  const ask = (n: number): LmRequest => ({
    ...{ model: "m", maxTokens: 1 + random.below(300) },
    messages: [{ role: "user", text: `${n} ${"é".repeat(random.below(400))}` }],
  });
  const agents = Array.from({ length: 6 }, async (_, n) => {
    const own = n === 0 ? budget : budget.child({ caps: { tokens: random.below(20_000), calls: random.below(30) } });
    const controller = new AbortController();
    const options = { budget: own, signal: controller.signal, purpose: "sub", parent: `agent ${n}` } as const;
    for (let turn = 0; turn < 6; turn++) {
      await tick();
      const calls =
        random.below(2) === 0
          ? gateway.complete(ask(turn), { ...options, isFinal: random.below(5) === 0 })
          : gateway.completeAll([ask(1), ask(2), ask(3)], options);
      if (random.below(12) === 0) controller.abort(new Error("enough"));
      await calls.catch((error: { code?: string }) => {
        expect(["budget_exhausted", "model_failed", "aborted"]).toContain(error.code);
      });
    }
  });
  await Promise.all(agents);
  const { spent, held, overrun } = budget.snapshot();
  expect(held).toEqual({ calls: 0, tokens: 0, usd: 0 });
  expect(overrun).toBeUndefined();
  expect(spent.calls).toBeLessThanOrEqual(caps.calls);
  expect(ledger.tokens, `seed ${seed}: what was spent is never less than what was charged`).toBeLessThanOrEqual(
    spent.tokens,
  );
  expect(ledger.usd).toBeLessThanOrEqual(spent.usd + 1e-9);
  return ledger.requests;
}

test("the provider's own account never exceeds the caps, in random trees with faults, lost answers, retries and cancelling", async () => {
  let requests = 0;
  const trees = isThorough ? 60 : 20;
  for (let seed = 1; seed <= trees; seed++) requests += await play(seed);
  expect(requests).toBeGreaterThan((800 * trees) / 60);
});
