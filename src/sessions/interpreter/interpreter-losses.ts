/** What an interpreter lost since the last result, one sentence each. The next result reports it once. */
export class InterpreterLosses {
  #notes: string[] = [];
  #isUnseen = false;

  /** Whether the interpreter died and its caller has not been told. Notes about a restore do not count. */
  get isUnseen(): boolean {
    return this.#isUnseen;
  }

  /** What is still to be reported. */
  get notes(): readonly string[] {
    return this.#notes;
  }

  /** The interpreter died between two runs. Only the latest loss is kept: user code could cause any number. */
  happenedBetweenRuns(notes: readonly string[]): void {
    this.#notes = ["between two runs:", ...notes];
    this.#isUnseen = true;
  }

  add(...notes: readonly string[]): void {
    this.#notes.push(...notes);
  }

  /** What the caller last saw is gone: until it is told, nothing may be saved as if it were there. */
  addLoss(note: string): void {
    this.#notes.push(note);
    this.#isUnseen = true;
  }

  /** Adds what happened after a loss, if a loss is still to be reported. */
  followedBy(note: string): void {
    if (this.#isUnseen) this.#notes.push(note);
  }

  /** A fork lacks what its parent lost before. */
  inherit(from: InterpreterLosses): void {
    this.#notes.unshift(...from.#notes);
    this.#isUnseen ||= from.#isUnseen;
  }

  take(): string[] {
    const notes = this.#notes;
    if (notes.length > 0) this.#notes = [];
    this.#isUnseen = false;
    return notes;
  }
}
