import { setTimeout as wait } from "node:timers/promises";

/** What a client sees of a session. */
export interface DescribedSession {
  readonly isBusy: boolean;
  readonly fields: object;
}

export interface SessionChangesOptions {
  /** What a client sees of the session now; undefined: there is no such session any more. Starts nothing. */
  readonly describe: (key: string) => Promise<DescribedSession | undefined>;
  readonly publish: (key: string, fields: object) => void;
  /** at most one change of a session in this time */
  readonly everyMs?: number;
  /** how often a busy session is looked at: some work ends without an event */
  readonly busyMs?: number;
}

/** Publishes sessions that changed, at most one per session in 100 ms. It does nothing while nobody reads. */
export class SessionChanges {
  readonly #options: Required<SessionChangesOptions>;
  readonly #dirty = new Set<string>();
  /** busy sessions, as they were published last */
  readonly #busy = new Map<string, string>();
  #reading: AbortController | undefined;
  #flushing: NodeJS.Timeout | undefined;
  #isPublishing = false;
  #flushedAt = 0;

  constructor(options: SessionChangesOptions) {
    this.#options = { everyMs: 100, busyMs: 500, ...options };
  }

  /** Somebody reads from now on, until the result is disposed. */
  start(): Disposable {
    const reading = new AbortController();
    this.#reading = reading;
    void this.#watchBusy(reading.signal);
    return {
      [Symbol.dispose]: () => {
        reading.abort();
        this.#reading = undefined;
        clearTimeout(this.#flushing);
        this.#flushing = undefined;
        this.#dirty.clear();
        this.#busy.clear();
      },
    };
  }

  changed(key: string): void {
    if (!this.#reading) return;
    this.#dirty.add(key);
    if (!this.#isPublishing) this.#schedule();
  }

  #schedule(): void {
    const sinceMs = performance.now() - this.#flushedAt;
    const dueMs = Math.max(0, this.#options.everyMs - sinceMs);
    this.#flushing ??= setTimeout(() => void this.#flush(), dueMs).unref();
  }

  /**
   * One at a time. The attack: a client that reconnects again and again has a thousand sessions described each time. What changes
   * meanwhile waits, and is described once.
   */
  async #flush(): Promise<void> {
    this.#flushing = undefined;
    if (this.#isPublishing) return;
    this.#isPublishing = true;
    this.#flushedAt = performance.now();
    const keys = [...this.#dirty];
    this.#dirty.clear();
    try {
      for (const key of keys) await this.#publish(key);
    } finally {
      this.#isPublishing = false;
      if (this.#dirty.size > 0) this.#schedule();
    }
  }

  async #publish(key: string): Promise<void> {
    const session = await this.#options.describe(key).catch(() => undefined);
    if (!this.#reading) return;
    if (!session) {
      this.#busy.delete(key);
      return;
    }
    const text = JSON.stringify(session.fields);
    if (text === this.#busy.get(key)) return;
    if (session.isBusy) this.#busy.set(key, text);
    else this.#busy.delete(key);
    this.#options.publish(key, session.fields);
  }

  async #watchBusy(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await wait(this.#options.busyMs, undefined, { ref: false, signal }).catch(() => {});
      if (signal.aborted) return;
      for (const key of [...this.#busy.keys()]) await this.#publish(key);
    }
  }
}
