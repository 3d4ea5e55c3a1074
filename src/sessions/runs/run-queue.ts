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
  inTurn<Result>(start: () => Promise<Result>): Promise<Result> {
    this.#waiting++;
    const ended = this.#last.then(() => {
      this.#waiting--;
      return start();
    });
    this.#last = over(ended);
    return ended;
  }

  /** Whoever queues from now on waits for this one too. */
  follow(ended: Promise<unknown>): void {
    this.#last = Promise.all([this.#last, over(ended)]).then(() => {});
  }
}

/** Without their values: each would hold the results of all runs before it. */
function over(ended: Promise<unknown>): Promise<void> {
  const nothing = () => {};
  return ended.then(nothing, nothing);
}
