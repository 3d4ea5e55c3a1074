import { aborted } from "./aborted.ts";

/** Releases a permit. Calling it twice, or disposing it after calling it, releases one permit. */
export type Release = (() => void) & Disposable;

/** A limited number of permits. Callers that get none wait, first come, first served. */
export class Semaphore {
  readonly #limit: number;
  readonly #inUseElsewhere: () => number;
  readonly #waiting = new Set<() => void>();
  #held = 0;

  /** `inUseElsewhere` counts permits that are in use without a `Release`; when it drops, call `recheck`. */
  constructor(limit: number, inUseElsewhere: () => number = () => 0) {
    this.#limit = limit;
    this.#inUseElsewhere = inUseElsewhere;
  }

  /** Whether no permit is free. */
  get isFull(): boolean {
    return this.#held + this.#inUseElsewhere() >= this.#limit;
  }

  /** Number of waiters. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** A permit, if one is free and there are no waiters. */
  tryAcquire(): Release | undefined {
    return this.isFull || this.#waiting.size > 0 ? undefined : this.#permit();
  }

  /** Waits for a permit. Rejects with `aborted` if the signal fires first. */
  async acquire(signal?: AbortSignal): Promise<Release> {
    if (signal?.aborted) throw aborted(signal);
    return this.tryAcquire() ?? (await this.#wait(signal));
  }

  /** Runs the task under a permit of its own. */
  async run<T>(task: () => T | Promise<T>, signal?: AbortSignal): Promise<T> {
    const release = await this.acquire(signal);
    try {
      return await task();
    } finally {
      release();
    }
  }

  /** Serves waiters while permits are free. */
  recheck(): void {
    for (const serve of this.#waiting) {
      if (this.isFull) return;
      serve();
    }
  }

  #wait(signal: AbortSignal | undefined): Promise<Release> {
    return new Promise((resolve, reject) => {
      const leave = () => {
        this.#waiting.delete(serve);
        if (signal) reject(aborted(signal));
      };
      const serve = () => {
        this.#waiting.delete(serve);
        signal?.removeEventListener("abort", leave);
        resolve(this.#permit());
      };
      this.#waiting.add(serve);
      signal?.addEventListener("abort", leave, { once: true });
    });
  }

  #permit(): Release {
    this.#held++;
    let isHeld = true;
    const release = () => {
      if (!isHeld) return;
      isHeld = false;
      this.#held--;
      this.recheck();
    };
    return Object.assign(release, { [Symbol.dispose]: release });
  }
}
