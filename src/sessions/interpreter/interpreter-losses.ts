/** What an interpreter lost since the last result, one sentence each. The next result reports it once. */
export class InterpreterLosses {
  #notes: string[] = [];

  get isEmpty(): boolean {
    return this.#notes.length === 0;
  }

  /** The interpreter died between two runs. Only the latest loss is kept: user code could cause any number. */
  happenedBetweenRuns(notes: readonly string[]): void {
    this.#notes = ["between two runs:", ...notes];
  }

  add(...notes: readonly string[]): void {
    this.#notes.push(...notes);
  }

  /** Adds what happened after a loss, if a loss is still to be reported. */
  followedBy(note: string): void {
    if (!this.isEmpty) this.#notes.push(note);
  }

  /** A fork lacks what its parent lost before. */
  inherit(from: InterpreterLosses): void {
    this.#notes.unshift(...from.#notes);
  }

  take(): string[] {
    const notes = this.#notes;
    if (notes.length > 0) this.#notes = [];
    return notes;
  }
}
