/** Random choices that a seed repeats. */
export interface Dice {
  /** a whole number from 0 to `limit` - 1 */
  below(limit: number): number;
  pick<One>(from: readonly One[]): One;
}

/** The generator mulberry32: one 32-bit number is its whole state. */
export function dice(seed: number): Dice {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (limit: number) => Math.floor(next() * limit);
  return { below, pick: (from) => from[below(from.length)] as (typeof from)[number] };
}
