import { createHash } from "node:crypto";
import { CodecellError } from "../../lib/errors.ts";
import { type Clock, systemClock } from "./clock.ts";

interface Start {
  /** digest of the request */
  readonly request: string;
  readonly runId: Promise<string>;
  readonly at: number;
}

/** Limits of the keys that are kept. */
export interface StartedOnceOptions {
  readonly clock?: Clock;
  readonly keepMs?: number;
  readonly keepKeys?: number;
}

/** Runs by the idempotency keys of their requests: a request that is sent again, because its reply was lost, runs nothing. */
export class StartedOnce {
  /** oldest first */
  readonly #starts = new Map<string, Start>();
  readonly #clock: Clock;
  readonly #keepMs: number;
  readonly #keepKeys: number;

  constructor({ clock = systemClock, keepMs = 15 * 60_000, keepKeys = 10_000 }: StartedOnceOptions = {}) {
    this.#clock = clock;
    this.#keepMs = keepMs;
    this.#keepKeys = keepKeys;
  }

  /**
   * The id of the run that the key's first request started. A start that failed is forgotten, so the next request tries again.
   * If the first caller left before its code ran, this caller starts it, unless its own signal is aborted too.
   */
  async once(key: string, request: string, start: () => Promise<string>, signal: AbortSignal): Promise<string> {
    const digest = createHash("sha256").update(request).digest("base64");
    for (;;) {
      this.#removeOld();
      const known = this.#starts.get(key);
      if (known === undefined) return this.#start(key, digest, start);
      if (known.request !== digest) throw otherRequest();
      try {
        return await known.runId;
      } catch (error) {
        const isFirstGone = error instanceof CodecellError && error.code === "aborted";
        if (!isFirstGone || signal.aborted) throw error;
      }
    }
  }

  async #start(key: string, request: string, start: () => Promise<string>): Promise<string> {
    const entry: Start = { request, runId: start(), at: this.#clock.now() };
    this.#starts.set(key, entry);
    try {
      return await entry.runId;
    } catch (error) {
      if (this.#starts.get(key) === entry) this.#starts.delete(key);
      throw error;
    }
  }

  #removeOld(): void {
    const oldest = this.#clock.now() - this.#keepMs;
    for (const [key, { at }] of this.#starts) {
      if (at > oldest && this.#starts.size < this.#keepKeys) return;
      this.#starts.delete(key);
    }
  }
}

/** @internal A key that comes with another session, code or option than before. */
export function otherRequest(): CodecellError {
  return new CodecellError("usage", "this Idempotency-Key was used with another request", {
    hint: "use a new random key for each run",
  });
}
