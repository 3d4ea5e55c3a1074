import type { Parameters } from "fast-check";
import { isThorough } from "../thorough.ts";

/** The seed of CI is always the same, so more tries would find a mistake of today once, and nothing in later runs. */
const share = isThorough ? 1 : 1 / 3;

/**
 * How often a property is tried. In CI a fixed seed, so that a red test is red for everybody. By hand (`npm run fuzz`) a new seed
 * each time, `FUZZ_RUNS` times as many tries and at most `FUZZ_SECONDS` per property; fast-check prints the seed of a failure,
 * and `FUZZ_SEED` repeats it.
 */
export function tries<Values>(runs: number): Parameters<Values> {
  const { FUZZ_RUNS: factor, FUZZ_SECONDS: seconds, FUZZ_SEED: seed } = process.env;
  const isLong = factor !== undefined || seconds !== undefined;
  const limit = seconds === undefined ? {} : { interruptAfterTimeLimit: Number(seconds) * 1000 };
  return {
    numRuns: isLong ? runs * Number(factor ?? 1_000_000) : Math.ceil(runs * share),
    seed: seed !== undefined ? Number(seed) : isLong ? Math.floor(Math.random() * 2 ** 31) : 17,
    ...limit,
    ...(isLong ? {} : { endOnFailure: false }),
  };
}

/** The same for loops that fast-check does not run, and that no time limit ends. */
export function rounds(count: number, most = Number.POSITIVE_INFINITY): number {
  return Math.min(most, count * Number(process.env.FUZZ_RUNS ?? 1));
}

/** How long a test may take, which in the long mode is as long as it was told to. */
export const patienceMs = process.env.FUZZ_SECONDS || process.env.FUZZ_RUNS ? 3_600_000 : 60_000;
