import { type Logger, silentLogger } from "../../lib/log/logger.ts";

/** What a pool did so far. */
export interface PoolStatistics {
  readonly ready: number;
  readonly target: number;
  readonly hits: number;
  readonly misses: number;
  /** how long callers waited for a fresh one because the pool was empty, in all */
  readonly missWaitMs: number;
}

export interface WarmPoolOptions<Item extends AsyncDisposable> {
  readonly size: number;
  /** makes one more; called in the background */
  readonly make: () => Promise<Item>;
  /** makes one that will wait quicker to answer; whoever takes a fresh one does not wait for that */
  readonly warm?: (item: Item) => Promise<void>;
  /** false for one that died while it waited */
  readonly isGood: (item: Item) => boolean;
  readonly logger?: Logger;
}

const maxRefills = 2;
const retryMs = 1000;
const refillPauseMs = 25;

/** Ready-made items of one kind. Each is handed out once and never comes back. */
export class WarmPool<Item extends AsyncDisposable> implements AsyncDisposable {
  readonly #options: WarmPoolOptions<Item>;
  readonly #ready: Item[] = [];
  readonly #making = new Set<Promise<void>>();
  #hits = 0;
  #misses = 0;
  #missWaitMs = 0;
  #isClosed = false;
  #retry: NodeJS.Timeout | undefined;
  #refillSoonest: NodeJS.Immediate | undefined;
  #refill: NodeJS.Timeout | undefined;

  constructor(options: WarmPoolOptions<Item>) {
    this.#options = options;
  }

  get statistics(): PoolStatistics {
    return {
      ready: this.#ready.length,
      target: this.#options.size,
      hits: this.#hits,
      misses: this.#misses,
      missWaitMs: this.#missWaitMs,
    };
  }

  /** A ready one at once, or a fresh one when there is none. */
  async take(): Promise<Item> {
    const ready = this.takeReady();
    if (ready) return ready;
    const began = performance.now();
    this.#misses++;
    try {
      return await this.#options.make();
    } finally {
      this.#missWaitMs += performance.now() - began;
    }
  }

  /** A ready one, or undefined; refills in the background. */
  takeReady(): Item | undefined {
    for (let item = this.#ready.shift(); item; item = this.#ready.shift()) {
      if (this.#options.isGood(item)) {
        this.#hits++;
        this.#refillSoon();
        return item;
      }
      void item[Symbol.asyncDispose]();
    }
    this.fill();
    return undefined;
  }

  /** Starts making what is missing; returns at once. */
  fill(): void {
    while (
      !this.#isClosed &&
      this.#making.size < maxRefills &&
      this.#ready.length + this.#making.size < this.#options.size
    ) {
      const making = this.#makeOne().then((isMade) => {
        this.#making.delete(making);
        if (isMade) this.fill();
      });
      this.#making.add(making);
    }
  }

  /** Waits until the pool is full, or its filling has failed. */
  async filled(): Promise<void> {
    this.fill();
    while (this.#making.size > 0) await Promise.all(this.#making);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#retry);
    clearImmediate(this.#refillSoonest);
    clearTimeout(this.#refill);
    await Promise.all(this.#making);
    await Promise.all(this.#ready.splice(0).map((item) => item[Symbol.asyncDispose]()));
  }

  /** A little later, so that the next one is not made while the one just handed out answers for the first time. */
  #refillSoon(): void {
    // Setting a timer takes a quarter of a hand-out: it is set when whoever asked has what they want.
    this.#refillSoonest ??= setImmediate(() => {
      this.#refillSoonest = undefined;
      this.#refill ??= setTimeout(() => {
        this.#refill = undefined;
        this.fill();
      }, refillPauseMs).unref();
    });
  }

  async #makeWarm(): Promise<Item> {
    const { make, warm } = this.#options;
    const item = await make();
    await warm?.(item).catch(async (error: unknown) => {
      await item[Symbol.asyncDispose]();
      throw error;
    });
    return item;
  }

  async #makeOne(): Promise<boolean> {
    try {
      const item = await this.#makeWarm();
      if (this.#isClosed) await item[Symbol.asyncDispose]();
      else this.#ready.push(item);
      return true;
    } catch (error) {
      (this.#options.logger ?? silentLogger).warn("a warm cell could not be started", { error });
      // Whoever asks meets the same failure and is told; trying again at once would only burn the machine.
      this.#retry ??= setTimeout(() => {
        this.#retry = undefined;
        this.fill();
      }, retryMs).unref();
      return false;
    }
  }
}
