import { SerialQueue } from "./serial-queue.ts";

/** A serial queue for each caller: one who asks for much waits for nobody but itself. */
export class SerialQueues {
  readonly #queues = new Map<string, SerialQueue>();

  /** Runs the task when the tasks of the same caller before it are over; see `SerialQueue.run`. */
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
