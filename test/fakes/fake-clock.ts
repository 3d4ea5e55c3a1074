import type { Clock } from "../../src/service/runs/clock.ts";

/** A clock that stands still until a test moves it. */
export class FakeClock implements Clock {
  #nowMs = 0;
  readonly #due = new Set<{ readonly at: number; readonly callback: () => void }>();

  now(): number {
    return this.#nowMs;
  }

  after(delayMs: number, callback: () => void): () => void {
    const one = { at: this.#nowMs + delayMs, callback };
    this.#due.add(one);
    return () => this.#due.delete(one);
  }

  /** The number of pending callbacks. */
  get waiting(): number {
    return this.#due.size;
  }

  /** Advances the time, and runs the callbacks that are due. */
  pass(ms: number): void {
    this.#nowMs += ms;
    for (const one of [...this.#due].sort((a, b) => a.at - b.at)) {
      if (one.at <= this.#nowMs && this.#due.delete(one)) one.callback();
    }
  }
}
