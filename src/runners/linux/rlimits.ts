/** The interpreter's own pages, which RLIMIT_DATA does not see but the supervisor's watch does. */
export const interpreterBytes = 32 * 1024 * 1024;

/** A random run of cores, so that cells do not all sit on the first ones. */
export function someCores(asked: number, available: number): number[] {
  const count = Math.min(Math.ceil(asked), available);
  const first = Math.floor(Math.random() * available);
  return Array.from({ length: count }, (_, index) => (first + index) % available);
}
