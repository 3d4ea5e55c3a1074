/** Translates run numbers of a cell, which start at 1 in each cell, into numbers of the session, which keeps counting. */
export class RunNumbers {
  /** the state before the first run of this cell: of a restored save, or 0 */
  #before = 0;
  /** a new entry only if the difference changes, which is rare */
  readonly #offsets: { readonly from: number; readonly offset: number }[] = [];

  /** The cell started with the variables of this run of the session. */
  startsAfter(number: number): void {
    this.#before = number;
  }

  /** The cell's run `id` is the session's run `number`. */
  note(id: number, number: number): void {
    const offset = number - id;
    if (this.#offsets.at(-1)?.offset !== offset) this.#offsets.push({ from: id, offset });
  }

  ofSession(id: number): number {
    const entry = this.#offsets.findLast(({ from }) => from <= id);
    return entry ? id + entry.offset : this.#before;
  }
}
