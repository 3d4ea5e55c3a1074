import { SerialQueue } from "./serial-queue.ts";

/** A serial queue per caller, so that a busy caller delays only itself. */
export class SerialQueues {
  readonly #queues = new Map<string, SerialQueue>();

  /** Runs the task after the earlier tasks of the same caller; see `SerialQueue.run`. */
  run<T>(caller: string, task: () => T | Promise<T>, signal?: AbortSignal): Promise<T> {
    const queue = this.#queues.get(caller) ?? new SerialQueue();
    this.#queues.set(caller, queue);
    const done = queue.run(task, signal);
    void queue.settled().then(() => {
      if (queue.isIdle && this.#queues.get(caller) === queue) this.#queues.delete(caller);
    });
    return done;
  }
}
