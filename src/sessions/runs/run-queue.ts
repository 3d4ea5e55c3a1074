import { SerialQueue } from "../../lib/serial-queue.ts";
import type { Run } from "./run.ts";

/** The order of a session's runs, for callers who would rather wait than be refused. */
export class RunQueue {
  readonly #queue = new SerialQueue();

  /** How many runs wait for their turn. */
  get waiting(): number {
    return this.#queue.waiting;
  }

  /** Starts a run when those before it are over, so that callers who queue go one after the other. */
  inTurn(start: () => Promise<Run>): Promise<Run> {
    const started = this.#queue.run(start);
    this.follow(started);
    return started;
  }

  /** Whoever queues from now on waits for this run too. */
  follow(started: Promise<Run>): void {
    this.#queue.follow(started.then((run) => run.result));
  }
}
