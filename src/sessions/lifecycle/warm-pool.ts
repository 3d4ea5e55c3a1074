import { type Logger, silentLogger } from "../../lib/log/logger.ts";

/** Counters of a pool. */
export interface PoolStatistics {
  readonly ready: number;
  readonly target: number;
  readonly hits: number;
  readonly misses: number;
  /** total time that callers waited for a fresh item because the pool was empty */
  readonly missWaitMs: number;
}

export interface WarmPoolOptions<Item extends AsyncDisposable> {
  readonly size: number;
  /** makes an item; called in the background */
  readonly make: () => Promise<Item>;
  /** prepares an item that will wait in the pool, so that it answers faster; not called for a fresh item */
  readonly warm?: (item: Item) => Promise<void>;
  /** false if the item died while it waited */
  readonly isGood: (item: Item) => boolean;
  readonly logger?: Logger;
}

const maxRefills = 2;
const retryMs = 1000;
const refillPauseMs = 25;

/** Ready-made items of one kind. Each is handed out once and never returned. */
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

  /** A ready item at once, or a fresh one if none is ready. */
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

  /** A ready item or undefined. Refills in the background. */
  takeReady(): Item | undefined {
    for (let item = this.#ready.shift(); item; item = this.#ready.shift()) {
      if (this.#options.isGood(item)) {
        this.#hits++;
        this.#refillSoon();
        return item;
      }
      void this.#remove(item);
    }
    this.fill();
    return undefined;
  }

  /** Starts to make the missing items; returns at once. */
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

  /** Removes a dead item. Nobody waits for this, so a failure goes to the log: an unhandled one would end the process. */
  async #remove(item: Item): Promise<void> {
    try {
      await item[Symbol.asyncDispose]();
    } catch (error) {
      (this.#options.logger ?? silentLogger).warn("a warm cell could not be removed", { error });
    }
  }

  /** Refills a little later, so that it does not slow down the first answer of the item just handed out. */
  #refillSoon(): void {
    // Setting a timer takes a quarter of the time of a hand-out, so it is set after the caller has the item.
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
      // A caller gets the same failure as an error. Retrying at once would only waste processor time.
      this.#retry ??= setTimeout(() => {
        this.#retry = undefined;
        this.fill();
      }, retryMs).unref();
      return false;
    }
  }
}
