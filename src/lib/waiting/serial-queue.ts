import { aborted } from "./aborted.ts";

const nothing = () => {};

/** Runs tasks one at a time, in the order they were added. A task that fails does not block the next one. */
export class SerialQueue {
  /** resolves when everything added so far is done; never rejects, and keeps no result */
  #last: Promise<void> = Promise.resolve();
  #pending = 0;
  #waiting = 0;

  /** How many tasks have not started yet. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Whether no task runs or waits. */
  get isIdle(): boolean {
    return this.#pending === 0;
  }

  /** Settles as the task does. If the signal fires before the task starts, it never starts, and this rejects with `aborted`. */
  run<T>(task: () => T | Promise<T>, signal?: AbortSignal): Promise<T> {
    if (signal?.aborted) return Promise.reject(aborted(signal));
    this.#waiting++;
    let leave = nothing;
    const left =
      signal &&
      new Promise<never>((_, reject) => {
        leave = () => reject(aborted(signal));
        signal.addEventListener("abort", leave, { once: true });
      });
    const done = this.#last.then(() => {
      this.#waiting--;
      signal?.removeEventListener("abort", leave);
      if (signal?.aborted) throw aborted(signal);
      return task();
    });
    this.follow(done);
    return left ? Promise.race([left, done]) : done;
  }

  /** Makes all tasks added from now on wait for this work too, whether it succeeds or fails. */
  follow(work: Promise<unknown>): void {
    const over = () => {
      this.#pending--;
    };
    const ended = work.then(over, over);
    this.#last = this.#pending++ === 0 ? ended : Promise.all([this.#last, ended]).then(nothing);
  }

  /** Resolves when everything added so far is done. Never rejects. */
  settled(): Promise<void> {
    return this.#last;
  }
}
