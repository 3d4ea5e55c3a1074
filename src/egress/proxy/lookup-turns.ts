import { Semaphore } from "../../lib/waiting/semaphore.ts";
import type { Resolve, Resolved } from "./resolver.ts";

const mostAtOnce = 4;
/** the default of `session.limit`: each session can look up names even if all others wait for answers */
const sessions = 32;

/** Threads of the proxy's process. libuv uses at most half of them for lookups. */
export const lookupThreads = 2 * mostAtOnce * sessions;

/**
 * Limits the names that one session looks up at a time. The attack: a lookup blocks a thread of the proxy until the name
 * server answers. A session that looks up names whose server never answers would block all threads and stop every session.
 */
export class LookupTurns {
  readonly #resolve: Resolve;
  readonly #turns = new Semaphore(mostAtOnce);

  constructor(resolve: Resolve) {
    this.#resolve = resolve;
  }

  /** Aborting removes a lookup from the queue. One that has started keeps its slot until it ends. */
  resolve(host: string, signal: AbortSignal): Promise<readonly Resolved[]> {
    return this.#turns.run(() => this.#resolve(host), signal);
  }
}
