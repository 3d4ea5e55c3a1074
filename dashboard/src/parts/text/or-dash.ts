/** Pure: a value in words, or a dash if it is unknown. */
export function orDash<T>(value: T | null | undefined, format: (value: T) => string): string {
  return value === null || value === undefined ? "–" : format(value);
}

/** Pure: `$0.0123`: money in the amounts that model calls have. */
export function formatUsd(usd: number): string {
  return `$${usd.toFixed(usd === 0 || usd >= 1 ? 2 : 4)}`;
}
