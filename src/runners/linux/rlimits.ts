/** Pages of the interpreter that RLIMIT_DATA does not count, but the supervisor's watchdog does. */
export const interpreterBytes = 32 * 1024 * 1024;

/** Consecutive cores from a random start, so that cells do not all use the first ones. */
export function someCores(requested: number, available: number): number[] {
  const count = Math.min(Math.ceil(requested), available);
  const first = Math.floor(Math.random() * available);
  return Array.from({ length: count }, (_, index) => (first + index) % available);
}
