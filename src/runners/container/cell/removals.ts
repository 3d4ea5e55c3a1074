import { setMaxListeners } from "node:events";
import type { Logger } from "../../../lib/log/logger.ts";
import { type EngineClient, EngineRefusal } from "../engine/engine-client.ts";

const longestPauseMs = 60_000;
const removeMs = 15_000;
const farewellMs = 2_000;
/** How often an engine has to say that it has no such container before one that it may still be making is forgotten. */
const doubtfulLooks = 3;

type Removal = "gone" | "going";

interface RemovalLimits {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

const patient: RemovalLimits = { timeoutMs: removeMs };

interface Due {
  readonly client: EngineClient;
  /** answers that are still needed */
  looks: number;
}

/** Removes containers, and goes on trying as long as the engine cannot be reached: nothing of ours is to stay there. */
export class Removals implements AsyncDisposable {
  readonly #logger: Logger;
  readonly #due = new Map<string, Due>();
  #timer: NodeJS.Timeout | undefined;
  readonly #firstPauseMs: number;
  #pauseMs: number;
  readonly #disposal = new AbortController();

  constructor(logger: Logger, firstPauseMs = 1_000) {
    setMaxListeners(0, this.#disposal.signal); // one for each container that is due
    this.#logger = logger;
    this.#firstPauseMs = firstPauseMs;
    this.#pauseMs = firstPauseMs;
  }

  /** Aborted when nobody removes anything any more. */
  get disposed(): AbortSignal {
    return this.#disposal.signal;
  }

  /** How many containers are still to be removed. */
  get due(): number {
    return this.#due.size;
  }

  /** Does not fail: what cannot be removed now is removed later. */
  remove(client: EngineClient, id: string): Promise<void> {
    return this.#attempt(client, id, removeContainer);
  }

  /** The same for one that did not end by itself. */
  end(client: EngineClient, id: string): Promise<void> {
    return this.#attempt(client, id, endContainer);
  }

  async #attempt(client: EngineClient, id: string, attempt: typeof removeContainer): Promise<void> {
    try {
      if ((await attempt(client, id)) === "going") this.later(client, id); // to see that it went
    } catch (error) {
      this.#logger.warn("a container could not be removed yet", { container: id.slice(0, 32), error });
      this.later(client, id);
    }
  }

  /** For an engine that is known not to answer now. */
  later(client: EngineClient, id: string): void {
    this.#note(id, { client, looks: 1 });
  }

  /** For a request to make one that was given up, and may be carried out all the same, even after it was removed. */
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

  /** One last try; what is left then goes when the next runner on this machine finds that its maker is gone. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#disposal.abort();
    clearTimeout(this.#timer);
    await this.#tryAll({ timeoutMs: farewellMs });
    this.#due.clear();
  }
}

/**
 * The same for one that did not end by itself. Somebody may have paused it: Docker then cannot end a container of gVisor,
 * forgets it, and its processes stay.
 */
async function endContainer(client: EngineClient, id: string, limits = patient): Promise<Removal> {
  await client.bytes({ method: "POST", path: `/containers/${id}/unpause`, ...limits }).catch((error: unknown) => {
    if (!(error instanceof EngineRefusal)) throw error; // not paused, or gone
  });
  return removeContainer(client, id, limits);
}

/** Ends and removes a container. "going": the engine says that it is about to, which may come to nothing. */
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
