const sampleMs = 20;

/** Watches how long the host's event loop stands still at most. */
export class LoopStalls {
  #longestMs = 0;
  #last = performance.now();
  readonly #timer = setInterval(() => {
    const now = performance.now();
    this.#longestMs = Math.max(this.#longestMs, now - this.#last - sampleMs);
    this.#last = now;
  }, sampleMs);

  stop(): void {
    clearInterval(this.#timer);
  }

  /** The harm, if it stood still for longer than that. */
  over(allowedMs: number): string | undefined {
    return this.#longestMs > allowedMs ? `the host did not respond for ${Math.round(this.#longestMs)} ms` : undefined;
  }
}
