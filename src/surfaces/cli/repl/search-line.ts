import type { Interface } from "node:readline";
import { safeText } from "../format/text/safe-text.ts";
import { ReverseSearch } from "./reverse-search.ts";

/** A search of the history, drawn in the place of the editor's line. */
export class SearchLine {
  readonly #editor: Interface;
  readonly #output: NodeJS.WriteStream;
  readonly #search: ReverseSearch;
  /** what was typed before the search */
  readonly #before: string;

  constructor(editor: Interface, output: NodeJS.WriteStream, lines: readonly string[]) {
    this.#editor = editor;
    this.#output = output;
    this.#search = new ReverseSearch(lines);
    this.#before = editor.line;
    clearLine(editor);
    this.#draw();
  }

  /** Takes keys. Returns those that are left for the editor once the search is over; undefined: it goes on. */
  take(typed: string): string | undefined {
    const step = this.#search.feed(typed);
    if (step.kind === "searching") {
      this.#draw();
      return undefined;
    }
    this.#output.write("\r\u001b[K");
    this.#editor.prompt(true);
    this.#editor.write(step.kind === "accepted" ? step.line : this.#before);
    return step.kind === "accepted" ? step.keys : "";
  }

  #draw(): void {
    // One row: the end of a longer text would be left on the screen.
    const room = Math.max(10, (this.#output.columns || 80) - 1);
    this.#output.write(`\r\u001b[K${safeText(this.#search.text).slice(0, room)}`);
  }
}

/** Drops the editor's whole line, wherever the cursor is: Ctrl-E, Ctrl-U. */
export function clearLine(editor: Interface): void {
  editor.write(null, { ctrl: true, name: "e" });
  editor.write(null, { ctrl: true, name: "u" });
}
