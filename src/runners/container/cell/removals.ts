import type { Logger } from "../../../lib/log/logger.ts";
import { sharedAbort } from "../../../lib/waiting/shared-abort.ts";
import { type EngineClient, EngineRefusal } from "../engine/engine-client.ts";

const longestPauseMs = 60_000;
const removeMs = 15_000;
const farewellMs = 2_000;
/** How often an engine must answer "no such container" before a container that it may still create is forgotten. */
const doubtfulLooks = 3;

type Removal = "gone" | "going";

interface RemovalLimits {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

const patient: RemovalLimits = { timeoutMs: removeMs };

interface Due {
  readonly client: EngineClient;
  /** how many more times the engine must confirm the removal */
  looks: number;
}

/** Removes containers, and retries while the engine cannot be reached, so that no container is left behind. */
export class Removals implements AsyncDisposable {
  readonly #logger: Logger;
  readonly #due = new Map<string, Due>();
  #timer: NodeJS.Timeout | undefined;
  readonly #firstPauseMs: number;
  #pauseMs: number;
  readonly #disposal = sharedAbort(); // one listener per container

  constructor(logger: Logger, firstPauseMs = 1_000) {
    this.#logger = logger;
    this.#firstPauseMs = firstPauseMs;
    this.#pauseMs = firstPauseMs;
  }

  /** Aborted when removals stop. */
  get disposed(): AbortSignal {
    return this.#disposal.signal;
  }

  /** How many containers are still to be removed. */
  get due(): number {
    return this.#due.size;
  }

  /** Removes a container that has exited. Does not fail: if the removal fails, it is retried later. */
  remove(client: EngineClient, id: string): Promise<void> {
    return this.#attempt(client, id, removeContainer);
  }

  /** Kills and removes a container that did not exit. */
  end(client: EngineClient, id: string): Promise<void> {
    return this.#attempt(client, id, endContainer);
  }

  async #attempt(client: EngineClient, id: string, attempt: typeof removeContainer): Promise<void> {
    try {
      if ((await attempt(client, id)) === "going") this.later(client, id); // to confirm that it was removed
    } catch (error) {
      this.#logger.warn("a container could not be removed yet", { container: id.slice(0, 32), error });
      this.later(client, id);
    }
  }

  /** Queues a removal, for an engine that does not answer now. */
  later(client: EngineClient, id: string): void {
    this.#note(id, { client, looks: 1 });
  }

  /** For a create request that was aborted: the engine may still carry it out, even after a removal. */
  doubtful(client: EngineClient, name: string): void {
    this.#note(name, { client, looks: doubtfulLooks });
  }

  #note(id: string, due: Due): void {
    this.#due.set(id, due);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#timer || this.#disposal.signal.aborted || this.#due.size === 0) return;
    this.#timer = setTimeout(async () => {
      await this.#tryAll({ timeoutMs: removeMs, signal: this.#disposal.signal });
      this.#timer = undefined;
      if (this.#due.size === 0) this.#pauseMs = this.#firstPauseMs;
      this.#schedule();
    }, this.#pauseMs).unref();
    this.#pauseMs = Math.min(this.#pauseMs * 2, longestPauseMs);
  }

  async #tryAll(limits: RemovalLimits): Promise<void> {
    const attempts = [...this.#due].map(async ([id, due]) => {
      if ((await endContainer(due.client, id, limits)) === "gone" && --due.looks <= 0) this.#due.delete(id);
    });
    await Promise.allSettled(attempts);
  }

  /** Tries once more. The next runner on this machine removes what is left (orphans.ts). */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#disposal.abort();
    clearTimeout(this.#timer);
    await this.#tryAll({ timeoutMs: farewellMs });
    this.#due.clear();
  }
}

/**
 * Unpauses a container before removing it. Docker cannot kill a paused gVisor container: it forgets the container, and the
 * processes keep running.
 */
async function endContainer(client: EngineClient, id: string, limits = patient): Promise<Removal> {
  await client.bytes({ method: "POST", path: `/containers/${id}/unpause`, ...limits }).catch((error: unknown) => {
    if (!(error instanceof EngineRefusal)) throw error; // it is not paused, or was removed
  });
  return removeContainer(client, id, limits);
}

/** Kills and removes a container. "going": the engine says that it is already removing it, which may still fail. */
async function removeContainer(client: EngineClient, id: string, limits = patient): Promise<Removal> {
  try {
    const query = { force: true, v: true };
    await client.bytes({ method: "DELETE", path: `/containers/${id}`, query, ...limits });
    return "gone";
  } catch (error) {
    if (!(error instanceof EngineRefusal)) throw error;
    if (error.status === 404) return "gone";
    if (error.status === 409) return "going";
    throw error;
  }
}
