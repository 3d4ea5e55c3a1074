import type { RlmUsage } from "./event.ts";

/** What calls of models used. */
export interface Cost extends RlmUsage {
  /** calls that were sent */
  readonly calls: number;
  /** answers from the cache or the tape: they cost nothing */
  readonly cached: number;
  readonly failed: number;
  /** of the calls that have a price */
  readonly usd: number;
  /** calls of models without a price, so that `usd` is not taken for all */
  readonly unpriced: number;
}

export const noCost: Cost = {
  calls: 0,
  cached: 0,
  failed: 0,
  usd: 0,
  unpriced: 0,
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  reasoningTokens: 0,
};

export function addCosts(costs: Iterable<Cost>): Cost {
  const sum: { -readonly [Key in keyof Cost]: number } = { ...noCost };
  for (const cost of costs) {
    for (const key of Object.keys(noCost) as (keyof Cost)[]) sum[key] += cost[key];
  }
  return sum;
}

/** All tokens. Reasoning is a part of the output. */
export function tokensOf(cost: RlmUsage): number {
  return cost.inputTokens + cost.cacheReadTokens + cost.cacheWriteTokens + cost.outputTokens;
}
