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
  readonly #waiting = new Set<() => void>();
  #underWay = 0;

  constructor(resolve: Resolve) {
    this.#resolve = resolve;
  }

  /** Whoever waits no longer gives up the place in the queue; a lookup that has begun keeps its turn until it ends. */
  async resolve(host: string, signal: AbortSignal): Promise<readonly Resolved[]> {
    await this.#turn(signal);
    try {
      return await this.#resolve(host);
    } finally {
      this.#pass();
    }
  }

  #turn(signal: AbortSignal): Promise<void> | void {
    if (this.#underWay < mostAtOnce) return void this.#underWay++;
    return new Promise((settle, reject) => {
      const giveUp = () => {
        this.#waiting.delete(take);
        reject(signal.reason);
      };
      const take = () => {
        signal.removeEventListener("abort", giveUp);
        settle();
      };
      this.#waiting.add(take);
      signal.addEventListener("abort", giveUp, { once: true });
    });
  }

  #pass(): void {
    const [next] = this.#waiting;
    if (!next) return void this.#underWay--;
    this.#waiting.delete(next);
    next();
  }
}
