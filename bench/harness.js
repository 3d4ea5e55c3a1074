// Measurements are interleaved: each round measures every variant once, so that a busy machine affects all of them equally.

/** Medians in milliseconds of each variant, measured round by round. */
export async function interleave(variants, rounds) {
  const samples = Object.fromEntries(Object.keys(variants).map((name) => [name, []]));
  for (let round = 0; round < rounds; round++) {
    for (const [name, measure] of Object.entries(variants)) samples[name].push(await measure());
  }
  return Object.fromEntries(Object.entries(samples).map(([name, values]) => [name, median(values)]));
}

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** How long a piece of work takes, in milliseconds. */
export async function timed(work) {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

/** One line of the report: a figure, its bound and whether it is within the bound. `{}` means no bound. */
export function row(what, figure, bound, detail) {
  const { atMost = Number.POSITIVE_INFINITY, atLeast = Number.NEGATIVE_INFINITY } = bound;
  const holds = figure <= atMost && figure >= atLeast;
  return { what, figure, bound, holds, detail };
}

export const ms = (value) => `${value.toFixed(value < 10 ? 2 : 1)} ms`;
