/** Walks through earlier code, as Up and Down do in a shell. What was typed is at the end, and is not lost. */
export class ConsoleHistory {
  readonly #entries: () => readonly string[];
  #at: number | undefined;
  #draft = "";
  #shown = "";

  /** `entries`: earlier code, oldest first */
  constructor(entries: () => readonly string[]) {
    this.#entries = entries;
  }

  /** The next text to show; undefined: there is none in this direction. */
  recall(step: -1 | 1, text: string): string | undefined {
    const entries = withoutRepeats(this.#entries());
    if (this.#at === undefined || text !== this.#shown) {
      this.#at = entries.length; // something else was typed: it becomes the draft
      this.#draft = text;
    }
    const next = this.#at + step;
    if (next < 0 || next > entries.length) return undefined;
    this.#at = next;
    this.#shown = entries[next] ?? this.#draft;
    return this.#shown;
  }
}

function withoutRepeats(entries: readonly string[]): string[] {
  return entries.filter((entry, index) => entry.trim() !== "" && entry !== entries[index - 1]);
}
