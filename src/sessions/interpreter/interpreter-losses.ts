/** What an interpreter lost since its caller last heard of it, one sentence each. It is told once, with the next result. */
export class InterpreterLosses {
  #notes: string[] = [];

  get isEmpty(): boolean {
    return this.#notes.length === 0;
  }

  /** It died between two runs. Only the latest is kept: user code decides how often its interpreter dies. */
  happenedBetweenRuns(notes: readonly string[]): void {
    this.#notes = ["between two runs:", ...notes];
  }

  add(...notes: readonly string[]): void {
    this.#notes.push(...notes);
  }

  /** What was lost before is not how it is now: says so, where anything is still to be told. */
  followedBy(note: string): void {
    if (!this.isEmpty) this.#notes.push(note);
  }

  /** What this one lost before is not in a copy of it either. */
  inherit(from: InterpreterLosses): void {
    this.#notes.unshift(...from.#notes);
  }

  take(): string[] {
    const notes = this.#notes;
    if (notes.length > 0) this.#notes = [];
    return notes;
  }
}
