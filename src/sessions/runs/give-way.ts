import { availableParallelism } from "node:os";

/** How long a cell may be busy before it counts as heavy. Short runs, now and then, are what people and agents wait for. */
const freeMs = 250;
/** How much of the time it may be busy without becoming heavy in the end. */
const freePart = 0.5;
/** What a run counts for that a limit ended, or that crashed: the next one may well do the same. */
const harmMs = 1_000;
/** A cell that was busy for minutes is forgiven after five seconds of rest. */
const longestDebtMs = 5_000 * freePart;

/** The heavy cells of this process. Only a crowd of them gives way: a few have to share with the rest of the machine as usual. */
export class HeavyCells {
  readonly #most: number;
  readonly #cells = new Set<GiveWay>();

  /** More than `most` at once are a crowd. */
  constructor(most = 2 * availableParallelism()) {
    this.#most = most;
  }

  get isCrowd(): boolean {
    return this.#cells.size > this.#most;
  }

  add(cell: GiveWay): void {
    this.#change(() => this.#cells.add(cell));
    if (this.isCrowd) cell.set(true);
  }

  delete(cell: GiveWay): void {
    this.#change(() => this.#cells.delete(cell));
  }

  #change(change: () => void): void {
    const before = this.isCrowd;
    change();
    if (before !== this.isCrowd) for (const cell of this.#cells) cell.set(this.isCrowd);
  }
}

const ofThisProcess = new HeavyCells();

/**
 * Lets a cell give way to others while processors are scarce, if it is one of many that have been busy for long. The attack: many
 * sessions compute without end, and everybody else waits for a processor at each step of a run.
 */
export class GiveWay {
  readonly #apply: (givesWay: boolean) => void;
  readonly #heavy: HeavyCells;
  #running = 0;
  /** busy time that its rest has not made up for, as of `#at` */
  #debtMs = 0;
  #at = performance.now();
  #givesWay = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(apply: (givesWay: boolean) => void, heavy = ofThisProcess) {
    this.#apply = apply;
    this.#heavy = heavy;
  }

  runStarts(): void {
    this.#count();
    if (this.#running++ > 0) return;
    if (this.#debtMs > freeMs) {
      this.#heavy.add(this);
      return;
    }
    this.set(false);
    this.#timer ??= this.#look(freeMs); // it outlives short runs, which would start and clear one each
  }

  /** `isHarmful`: a limit ended the run, or it crashed. */
  runEnds(isHarmful: boolean): void {
    this.#count();
    if (isHarmful) this.#debtMs = Math.min(longestDebtMs, this.#debtMs + harmMs);
    // Its share stays low until its next run: threads that this one left may go on computing.
    if (--this.#running === 0) this.#heavy.delete(this);
  }

  /** The cell is gone: nothing may keep it in memory. */
  close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#heavy.delete(this);
  }

  /** @internal Called for a heavy cell when the crowd forms, or is none any more. */
  set(givesWay: boolean): void {
    if (givesWay === this.#givesWay) return;
    this.#givesWay = givesWay;
    this.#apply(givesWay);
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
      if (this.#running === 0) return;
      this.#count();
      if (this.#debtMs > freeMs) this.#heavy.add(this);
      else this.#timer = this.#look(freeMs - this.#debtMs + 1);
    }, afterMs).unref();
  }
}
