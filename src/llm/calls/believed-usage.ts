import { unitsOf } from "../budget/amounts.ts";
import type { LmRequest, LmResponse, LmUsage } from "../client.ts";
import { estimatedUsage } from "../clients/estimated-usage.ts";
import { charged, type Price } from "../money/prices.ts";
import { noUsage, totalTokens } from "../usage.ts";

/** More tokens than any model reads or writes in one call. */
const mostTokens = 1e9;

/**
 * The answer, with usage that a budget can be charged for. The attack: usage that is negative, not a whole number, zero or beyond
 * all bounds makes a call that was paid for free, or frees what other calls spent. Such a call costs its worst case.
 */
export function believed(response: LmResponse, request: LmRequest, price: Price | undefined): LmResponse {
  return isBelievable(response.usage, price) ? response : { ...response, ...estimatedUsage(request) };
}

function isBelievable(usage: LmUsage | null | undefined, price: Price | undefined): boolean {
  if (!usage) return false;
  const counts = (Object.keys(noUsage) as (keyof LmUsage)[]).map((kind) => usage[kind]);
  if (!counts.every((count) => Number.isInteger(count) && count >= 0 && count <= mostTokens)) return false;
  // a prompt always has tokens
  return totalTokens(usage) > 0 && fitsBudget(usage, price);
}

/** A price can be so high that the cost is more than a budget counts. */
function fitsBudget(usage: LmUsage, price: Price | undefined): boolean {
  try {
    unitsOf(charged(usage, price));
    return true;
  } catch {
    return false;
  }
}
