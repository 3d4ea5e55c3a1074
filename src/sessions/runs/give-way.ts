/** How long a cell may be busy before it gives way. Short runs, now and then, are what people and agents wait for. */
const freeMs = 250;
/** How much of the time it may be busy without giving way in the end. */
const freePart = 0.5;
/** What a run counts for that a limit ended, or that crashed: the next one may well do the same. */
const harmMs = 1_000;
/** A cell that was busy for minutes is forgiven after this time of rest. */
const longestDebtMs = 5_000 * freePart;

/**
 * Lets a cell give way to others while processors are scarce, once it has been busy for long. The attack: many sessions compute
 * without end, and everybody else waits for a processor at each step of a run.
 */
export class GiveWay {
  readonly #apply: (givesWay: boolean) => void;
  #running = 0;
  /** busy time that its rest has not made up for, as of `#at` */
  #debtMs = 0;
  #at = performance.now();
  #givesWay = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(apply: (givesWay: boolean) => void) {
    this.#apply = apply;
  }

  runStarts(): void {
    this.#count();
    if (this.#running++ > 0) return;
    // not at the end of the run before: threads that it left may go on computing
    this.#set(this.#debtMs > freeMs);
    if (!this.#givesWay) this.#timer ??= this.#look(freeMs); // it outlives short runs, which would start and clear one each
  }

  /** `isHarmful`: a limit ended the run, or it crashed. */
  runEnds(isHarmful: boolean): void {
    this.#count();
    this.#running--;
    if (!isHarmful) return;
    this.#debtMs = Math.min(longestDebtMs, this.#debtMs + harmMs);
    this.#set(true);
  }

  /** Adds the time since the last call to the debt, or takes a part of it off. */
  #count(): void {
    const now = performance.now();
    const passedMs = now - this.#at;
    this.#at = now;
    const debtMs = this.#debtMs + (this.#running > 0 ? passedMs : -passedMs * freePart);
    this.#debtMs = Math.min(longestDebtMs, Math.max(0, debtMs));
  }

  #look(afterMs: number): NodeJS.Timeout {
    return setTimeout(() => {
      this.#timer = undefined;
      if (this.#running === 0 || this.#givesWay) return;
      this.#count();
      if (this.#debtMs > freeMs) this.#set(true);
      else this.#timer = this.#look(freeMs - this.#debtMs + 1);
    }, afterMs).unref();
  }

  #set(givesWay: boolean): void {
    if (givesWay === this.#givesWay) return;
    this.#givesWay = givesWay;
    this.#apply(givesWay);
  }
}
