import type { Run } from "./run.ts";

/** The order of a session's runs, for callers who would rather wait than be refused. */
export class RunQueue {
  /** until everything that was started or queued so far is over; it never rejects */
  #last: Promise<void> = Promise.resolve();
  #waiting = 0;

  /** How many runs wait for their turn. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Starts a run when those before it are over, so that callers who queue go one after the other. */
  inTurn(start: () => Promise<Run>): Promise<Run> {
    this.#waiting++;
    const started = this.#last.then(() => {
      this.#waiting--;
      return start();
    });
    this.#last = over(started);
    return started;
  }

  /** Whoever queues from now on waits for this one too. */
  follow(started: Promise<Run>): void {
    this.#last = Promise.all([this.#last, over(started)]).then(() => {});
  }
}

/** Without their values: each would hold the results of all runs before it. */
function over(started: Promise<Run>): Promise<void> {
  const nothing = () => {};
  return started.then((run) => run.result).then(nothing, nothing);
}
