/**
 * One turn per round of the event loop, for all heavy work of the process together. The attack: 64 requests that each work for a
 * millisecond per round let everybody else wait for 64 milliseconds. With turns they wait for one.
 */
export class LoopTurns {
  readonly #waiting: (() => void)[] = [];
  #isScheduled = false;

  /** Resolves in a later round of the event loop, in the order of the calls, one per round. */
  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#schedule();
    });
  }

  #schedule(): void {
    if (this.#isScheduled || this.#waiting.length === 0) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#waiting.shift()?.();
      this.#schedule();
    });
  }
}

/** The turns of this process: it has one event loop, whoever works in it. */
export const loopTurns = new LoopTurns();
