/** What a key does to a search: it goes on, it is cancelled, or its match is taken and further keys are for the editor. */
export type SearchStep =
  | { readonly kind: "searching" | "cancelled" }
  | { readonly kind: "accepted"; readonly line: string; readonly keys: string };

const keys = { ctrlC: "\u0003", ctrlG: "\u0007", backspace: "\u007f", ctrlH: "\b", ctrlR: "\u0012", ctrlS: "\u0013" };

/** Ctrl-R: the newest line of the history that holds the typed text. Pure; the caller draws it. */
export class ReverseSearch {
  /** newest first */
  readonly #lines: readonly string[];
  /** of the match */
  #at = -1;
  #query = "";
  #failed = false;

  constructor(lines: readonly string[]) {
    this.#lines = lines;
  }

  /** What the search line shows. */
  get text(): string {
    const name = this.#failed ? "(failed reverse-i-search)" : "(reverse-i-search)";
    return `${name}\`${this.#query}': ${this.#match}`;
  }

  /** Takes one key after the other; `typed` may hold several. */
  feed(typed: string): SearchStep {
    const all = [...typed];
    for (const [index, key] of all.entries()) {
      const rest = all.slice(index).join("");
      if (key === keys.ctrlC || key === keys.ctrlG || rest === "\u001b") return { kind: "cancelled" };
      if (key === keys.ctrlR) this.#find(this.#at + 1, 1);
      else if (key === keys.ctrlS) this.#find(this.#at - 1, -1);
      else if (key === keys.backspace || key === keys.ctrlH) this.#setQuery([...this.#query].slice(0, -1).join(""));
      // Enter, Tab, arrows and other control keys act on the line that was found
      else if (key < " ") return { kind: "accepted", line: this.#match, keys: rest };
      else this.#extend(key);
    }
    return { kind: "searching" };
  }

  get #match(): string {
    return this.#lines[this.#at] ?? "";
  }

  #setQuery(query: string): void {
    this.#query = query;
    this.#at = -1;
    this.#failed = false;
    if (query !== "") this.#find(0, 1);
  }

  #extend(key: string): void {
    this.#query += key;
    this.#find(Math.max(this.#at, 0), 1);
  }

  /** The match stays if there is no other. */
  #find(from: number, step: 1 | -1): void {
    if (this.#query === "") return;
    const shown = this.#match;
    for (let at = from; at >= 0 && at < this.#lines.length; at += step) {
      const line = this.#lines[at] ?? "";
      const isOther = at === this.#at || line !== shown || !shown.includes(this.#query);
      if (!line.includes(this.#query) || !isOther) continue;
      this.#at = at;
      this.#failed = false;
      return;
    }
    this.#failed = true;
  }
}
