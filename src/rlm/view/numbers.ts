import { type Cost, tokensOf } from "../trajectory/cost.ts";

/** `840 ms`, `7.8 s`, `2 min 05 s` */
export function durationText(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 99_950) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  return `${Math.floor(seconds / 60)} min ${String(seconds % 60).padStart(2, "0")} s`;
}

/** Money with enough digits to tell small amounts apart. */
export function usdText(usd: number): string {
  if (usd === 0) return "$0";
  return usd < 0.00005 ? "<$0.0001" : `$${usd.toFixed(usd < 0.995 ? 4 : 2)}`;
}

/** The money of a node; a call without a price is named, so that the sum is not taken for all. */
export function moneyText({ usd, unpriced, calls }: Cost): string {
  if (unpriced === 0) return usdText(usd);
  return unpriced === calls ? "no price" : `${usdText(usd)} + ${countText(unpriced, "call")} without a price`;
}

export function tokensText(cost: Cost): string {
  return countText(tokensOf(cost), "token");
}

/** `1 call`, `12,034 calls` */
export function countText(count: number, one: string): string {
  return `${numberText(count)} ${one}${count === 1 ? "" : "s"}`;
}

export function numberText(count: number): string {
  return count.toLocaleString("en-US");
}
