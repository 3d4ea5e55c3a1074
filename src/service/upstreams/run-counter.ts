/** of runs that are remembered: more than can be alive at once */
const maxRuns = 10_000;

/** Counts calls per run. */
export class RunCounter {
  readonly #counts = new Map<string, number>();

  /** Counts one more call and returns how many there are. */
  add(sessionId: string, run: number): number {
    const key = JSON.stringify([sessionId, run]);
    const count = (this.#counts.get(key) ?? 0) + 1;
    this.#counts.delete(key); // to the end: runs that still call are forgotten last
    this.#counts.set(key, count);
    if (this.#counts.size > maxRuns) {
      const [oldest] = this.#counts.keys();
      if (oldest !== undefined) this.#counts.delete(oldest);
    }
    return count;
  }
}
