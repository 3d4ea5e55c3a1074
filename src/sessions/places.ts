import { deadline } from "../lib/deadline.ts";
import { CodecellError } from "../lib/errors.ts";
import { Semaphore } from "../lib/semaphore.ts";

/** The places for live sessions: as many as the policy allows, and a queue for callers who can wait. */
export class Places implements Disposable {
  readonly #limit: number;
  readonly #permits: Semaphore;
  readonly #closing = new AbortController();

  /** `inUse` counts the sessions that are alive or on their way out. */
  constructor(limit: number, inUse: () => number) {
    this.#limit = limit;
    this.#permits = new Semaphore(limit, inUse);
  }

  get areTaken(): boolean {
    return this.#permits.isFull;
  }

  /** Holds a place until the session is alive, and waits for one as long as the caller can. Returns how to release it. */
  async reserve(waitMs: number, assertOpen: () => void): Promise<() => void> {
    const free = this.#permits.tryAcquire();
    if (free) return free;
    assertOpen();
    const late = waitMs > 0 ? await this.#wait(waitMs, assertOpen) : undefined;
    if (late) return late;
    throw new CodecellError("session_limit", `${this.#limit} sessions are alive, as many as session.limit allows`, {
      hint: "close one, wait, or raise session.limit",
    });
  }

  /** To be called when a session is gone: callers who wait get its place, in the order they came. */
  lookAgain(): void {
    this.#permits.recheck();
  }

  /** Sends those who wait away. */
  [Symbol.dispose](): void {
    this.#closing.abort();
  }

  async #wait(waitMs: number, assertOpen: () => void): Promise<(() => void) | undefined> {
    using limit = deadline(waitMs, this.#closing.signal);
    try {
      return await this.#permits.acquire(limit.signal);
    } catch {
      assertOpen();
      return this.#permits.tryAcquire();
    }
  }
}
