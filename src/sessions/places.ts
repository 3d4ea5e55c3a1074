import { CodecellError } from "../lib/errors.ts";

/** The places for live sessions: as many as the policy allows, and a queue for those who have time. */
export class Places {
  readonly #limit: number;
  readonly #inUse: () => number;
  readonly #waiting = new Set<() => void>();
  #reserved = 0;

  /** `inUse` counts the sessions that are alive or on their way out. */
  constructor(limit: number, inUse: () => number) {
    this.#limit = limit;
    this.#inUse = inUse;
  }

  get areTaken(): boolean {
    return this.#inUse() + this.#reserved >= this.#limit;
  }

  /** Holds a place until the session is alive, waiting for one where the caller has time; returns how to let go of it. */
  async reserve(waitMs: number, assertOpen: () => void): Promise<() => void> {
    const end = performance.now() + waitMs;
    while (this.areTaken) {
      assertOpen();
      const leftMs = end - performance.now();
      if (leftMs <= 0) {
        throw new CodecellError("session_limit", `${this.#limit} sessions are alive, as many as session.limit allows`, {
          hint: "close one, wait, or raise session.limit",
        });
      }
      await this.#freed(leftMs);
    }
    this.#reserved++;
    return () => {
      this.#reserved--;
      this.lookAgain();
    };
  }

  /** Everybody who waits looks again: who comes first gets the place. */
  lookAgain(): void {
    for (const wake of [...this.#waiting]) wake();
  }

  #freed(mostMs: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        clearTimeout(timer);
        this.#waiting.delete(wake);
        resolve();
      };
      const timer = setTimeout(wake, mostMs);
      this.#waiting.add(wake);
    });
  }
}
