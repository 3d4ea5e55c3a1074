import { Semaphore } from "../../lib/semaphore.ts";
import type { Resolve, Resolved } from "./resolver.ts";

const mostAtOnce = 4;
/** as many as `session.limit` allows unless told: each of them gets its turns although all others wait for an answer */
const sessions = 32;

/** Threads of the proxy's process. Of these libuv lets lookups have half, so that files and other work go on beside them. */
export const lookupThreads = 2 * mostAtOnce * sessions;

/**
 * Lets one session look up a few names at a time. The attack: a lookup holds a thread of the proxy until the name server
 * answers, so a session that may ask in a zone whose server never does would hold them all, and nobody else's names resolve.
 */
export class LookupTurns {
  readonly #resolve: Resolve;
  readonly #turns = new Semaphore(mostAtOnce);

  constructor(resolve: Resolve) {
    this.#resolve = resolve;
  }

  /** Aborting leaves the line of those who wait; a lookup that has begun keeps its turn until it ends. */
  resolve(host: string, signal: AbortSignal): Promise<readonly Resolved[]> {
    return this.#turns.run(() => this.#resolve(host), signal);
  }
}
