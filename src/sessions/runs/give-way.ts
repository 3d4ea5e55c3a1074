/** A run that takes longer gives way. Shorter ones are what people and agents wait for. */
const longRunMs = 250;
/** How long a cell gives way after a run that a limit ended, or that crashed: the next one may well do the same. */
const afterHarmMs = 5_000;

/**
 * Lets a cell give way to others while processors are scarce, once its run takes long. The attack: many sessions compute without end,
 * and everybody else waits for a processor at each step of a run.
 */
export class GiveWay {
  readonly #apply: (givesWay: boolean) => void;
  #running = 0;
  #startedAt = 0;
  #givesWay = false;
  #untilAt = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(apply: (givesWay: boolean) => void) {
    this.#apply = apply;
  }

  runStarts(): void {
    if (this.#running++ > 0) return;
    this.#startedAt = performance.now();
    const isOver = this.#startedAt >= this.#untilAt;
    if (this.#givesWay && isOver) this.#set(false); // not at the end of the run before: threads that it left may go on computing
    this.#timer ??= this.#look(longRunMs); // it outlives short runs, which would start and clear one each
  }

  /** `isHarmful`: a limit ended the run, or it crashed. */
  runEnds(isHarmful: boolean): void {
    this.#running--;
    if (!isHarmful) return;
    this.#untilAt = performance.now() + afterHarmMs;
    if (!this.#givesWay) this.#set(true);
  }

  #look(afterMs: number): NodeJS.Timeout {
    return setTimeout(() => {
      this.#timer = undefined;
      if (this.#running === 0) return;
      const leftMs = this.#startedAt + longRunMs - performance.now();
      if (leftMs > 0) this.#timer = this.#look(leftMs);
      else if (!this.#givesWay) this.#set(true);
    }, afterMs).unref();
  }

  #set(givesWay: boolean): void {
    this.#givesWay = givesWay;
    this.#apply(givesWay);
  }
}
