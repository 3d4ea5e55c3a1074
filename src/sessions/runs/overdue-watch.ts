/** A run that must have ended by a certain time. */
export interface WatchedRun {
  /** when it is overdue, by the clock of `performance`; it may move while the run is running */
  dueAt(): number;
  onOverdue(): void;
}

/**
 * Calls back when a run is overdue. One timer serves all runs of a session, one after the other: starting and clearing one for each is
 * a noticeable part of a short run.
 */
export class OverdueWatch {
  #run: WatchedRun | undefined;
  #timer: NodeJS.Timeout | undefined;
  #firesAt = 0;

  begin(run: WatchedRun): void {
    this.#run = run;
    const dueAt = run.dueAt();
    if (this.#timer && this.#firesAt <= dueAt) this.#timer.ref();
    else this.#setTimer(dueAt);
  }

  /** The run has ended. The timer stays for the next one, and keeps no process alive meanwhile. */
  end(): void {
    this.#run = undefined;
    this.#timer?.unref();
  }

  #setTimer(at: number): void {
    clearTimeout(this.#timer);
    this.#firesAt = at;
    this.#timer = setTimeout(() => this.#look(), Math.max(1, at - performance.now()));
  }

  #look(): void {
    this.#timer = undefined;
    const run = this.#run;
    if (!run) return;
    const dueAt = run.dueAt();
    if (performance.now() < dueAt) this.#setTimer(dueAt);
    else run.onOverdue();
  }
}
