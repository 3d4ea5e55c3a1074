import { CodecellError } from "../../lib/errors.ts";
import { deadline } from "../../lib/waiting/deadline.ts";
import { Semaphore } from "../../lib/waiting/semaphore.ts";

/** Limits the number of live sessions to what the policy allows, with a queue for callers who can wait. */
export class SessionSlots implements Disposable {
  readonly #limit: number;
  readonly #permits: Semaphore;
  readonly #closing = new AbortController();

  /** `inUse` counts the sessions that are live or closing. */
  constructor(limit: number, inUse: () => number) {
    this.#limit = limit;
    this.#permits = new Semaphore(limit, inUse);
  }

  get isFull(): boolean {
    return this.#permits.isFull;
  }

  /** Reserves a slot until the session is live; waits at most `waitMs`. Returns a function that releases it. */
  async reserve(waitMs: number, assertOpen: () => void): Promise<() => void> {
    const free = this.#permits.tryAcquire();
    if (free) return free;
    assertOpen();
    const late = waitMs > 0 ? await this.#wait(waitMs, assertOpen) : undefined;
    if (late) return late;
    throw new CodecellError("session_limit", `${this.#limit} sessions are open, the limit of session.limit`, {
      hint: "close one, wait, or raise session.limit in the policy",
    });
  }

  /** Call this when a session is gone: the caller that has waited longest gets its slot. */
  recheck(): void {
    this.#permits.recheck();
  }

  /** Rejects the callers that are waiting. */
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
