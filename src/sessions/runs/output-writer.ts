import type { SerialQueue } from "../../lib/waiting/serial-queue.ts";
import type { OutputsOfRun } from "../storage/output-line.ts";
import type { HeldSession } from "../storage/session-storage.ts";

/** Outputs wait this long for those of the next runs, so that short runs one after the other cost one write. */
const gatherMs = 250;
/** The attack: a program that prints faster than the disk writes, in run after run. What is over this is not kept. */
const maxWaitingBytes = 32 * 1024 * 1024;

/** Writes the outputs of runs to disk, after their results are with their callers. */
export class OutputWriter {
  readonly #held: Pick<HeldSession, "appendOutputs">;
  readonly #queue: SerialQueue;
  #waiting: OutputsOfRun[] = [];
  #waitingBytes = 0;
  #timer: NodeJS.Timeout | undefined;

  /** `queue`: the writes of the session's history */
  constructor(held: Pick<HeldSession, "appendOutputs">, queue: SerialQueue) {
    this.#held = held;
    this.#queue = queue;
  }

  /** `bytes`: the size of the outputs. */
  add(run: OutputsOfRun, bytes: number): void {
    if (this.#waitingBytes + bytes > maxWaitingBytes) return;
    this.#waitingBytes += bytes;
    this.#waiting.push(run);
    this.#timer ??= setTimeout(() => this.flush(), gatherMs).unref();
  }

  /** Starts to write what waits. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#waiting.length === 0) return;
    const runs = this.#waiting;
    const bytes = this.#waitingBytes;
    this.#waiting = [];
    const over = () => {
      this.#waitingBytes -= bytes;
    };
    this.#queue.run(() => this.#held.appendOutputs(runs)).then(over, over);
  }
}
