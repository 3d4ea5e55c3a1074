import { createInterface, type Interface } from "node:readline";
import type { Terminal } from "../shell/terminal.ts";
import { EditorInput } from "./editor-input.ts";
import type { TypedPart } from "./paste-splitter.ts";
import { pastedLines } from "./pasted-lines.ts";
import type { EditorCompletions } from "./repl-completer.ts";
import type { ReplHistory } from "./repl-history.ts";
import { clearLine, SearchLine } from "./search-line.ts";

/**
 * A typed line; `isPasted`: more lines of the same paste follow. `cleared`: Ctrl-C at the prompt; `end`: Ctrl-D or the end of the
 * file.
 */
export type ReplLine = { readonly line: string; readonly isPasted: boolean } | "cleared" | "end";

/** What the prompts are. `more`: of the lines after the first one of an entry. */
export interface Prompts {
  readonly first: string;
  readonly more: string;
}

export interface LineHandlers {
  /** Ctrl-C while no line is being read */
  onInterrupt(): void;
  /** completes the line up to the cursor */
  complete(line: string): Promise<EditorCompletions>;
}

type TerminalStreams = NonNullable<Terminal["interactive"]>;

const ctrlR = "\u0012";
const bracketedPaste = { on: "\u001b[?2004h", off: "\u001b[?2004l" };

/** Lines from a person, with editing and history, or from a pipe. */
export class ReplLines implements Disposable {
  readonly #reader: Interface;
  readonly #history: ReplHistory;
  readonly #prompts: Prompts;
  readonly #streams: TerminalStreams | undefined;
  readonly #input: EditorInput | undefined;
  /** a terminal that understands escape sequences */
  readonly #canDraw: boolean;
  readonly #waiting: { readonly line: string; readonly isPasted: boolean }[] = [];
  /** pasted while code was running */
  readonly #waitingPastes: string[] = [];
  /** The shell that follows would show the marks of a paste. */
  readonly #endPaste = () => {
    if (this.#canDraw) this.#streams?.output.write(bracketedPaste.off);
  };
  #search: SearchLine | undefined;
  #isFirstLine = true;
  #isPasting = false;
  #ended = false;
  #resolve: ((line: ReplLine) => void) | undefined;

  constructor(terminal: Terminal, history: ReplHistory, prompts: Prompts, handlers: LineHandlers) {
    this.#history = history;
    this.#prompts = prompts;
    this.#streams = terminal.interactive;
    this.#canDraw = terminal.interactive !== undefined && terminal.env.TERM !== "dumb";
    this.#input = this.#streams && new EditorInput(this.#streams.input, (part) => this.#take(part));
    this.#reader =
      this.#streams && this.#input
        ? editorOf(this.#input, this.#streams.output, history, (line) =>
            this.#resolve ? handlers.complete(line) : Promise.resolve([[], line]),
          )
        : createInterface({ input: terminal.stdin, terminal: false });
    // Also while code runs: what is pasted then is for the next prompt.
    if (this.#canDraw) this.#streams?.output.write(bracketedPaste.on);
    process.on("exit", this.#endPaste);
    this.#reader.on("line", (line) => this.#give({ line, isPasted: this.#isPasting }));
    this.#reader.on("history", (lines) => {
      history.lines = lines;
    });
    this.#reader.on("close", () => this.#end());
    // The editor holds the terminal in raw mode, where Ctrl-C is a key and not a signal.
    this.#reader.on("SIGINT", () => (this.#resolve ? this.#clear() : handlers.onInterrupt()));
  }

  /** `isFirst`: the line starts an entry. */
  next(isFirst: boolean): Promise<ReplLine> {
    this.#isFirstLine = isFirst;
    const line = this.#waiting.shift();
    if (line !== undefined) return Promise.resolve(line);
    if (this.#ended) return Promise.resolve("end");
    const answer = new Promise<ReplLine>((resolve) => {
      this.#resolve = resolve;
    });
    if (this.#streams) {
      this.#prompt(isFirst);
      for (const text of this.#waitingPastes.splice(0)) this.#paste(text);
    }
    return answer;
  }

  /** Ends the input: a pending `next()` resolves with `end`. */
  end(): void {
    this.#reader.close();
  }

  [Symbol.dispose](): void {
    this.#reader.close();
    this.#input?.[Symbol.dispose]();
    process.off("exit", this.#endPaste);
    this.#endPaste();
  }

  /** Returns the keys that are for the editor. */
  #take(part: TypedPart): string {
    if ("paste" in part) {
      this.#closeSearch();
      if (this.#resolve) this.#paste(part.paste);
      else this.#waitingPastes.push(part.paste);
      return "";
    }
    if (this.#search) return this.#takeSearched(part.keys);
    if (!part.keys.startsWith(ctrlR) || !this.#resolve || !this.#canDraw || !this.#streams) return part.keys;
    this.#search = new SearchLine(this.#reader, this.#streams.output, this.#history.lines);
    return this.#takeSearched(part.keys.slice(ctrlR.length));
  }

  #takeSearched(keys: string): string {
    const left = keys === "" ? undefined : this.#search?.take(keys);
    if (left === undefined) return "";
    this.#search = undefined;
    return left;
  }

  #closeSearch(): void {
    this.#search?.take("\u001b");
    this.#search = undefined;
  }

  #prompt(isFirst: boolean): void {
    this.#reader.setPrompt(isFirst ? this.#prompts.first : this.#prompts.more);
    this.#reader.prompt(true);
  }

  /** Puts pasted text into the entry. Its last line stays in the editor: a paste never runs by itself. */
  #paste(text: string): void {
    const { line, cursor } = this.#reader;
    const lines = pastedLines(text, this.#isFirstLine && line === "");
    const last = lines.pop() ?? "";
    if (lines.length === 0) {
      this.#reader.write(last);
      return;
    }
    clearLine(this.#reader);
    this.#isPasting = true;
    for (const [index, one] of lines.entries()) {
      this.#reader.write(index === 0 ? line.slice(0, cursor) + one : one);
      this.#reader.write(null, { name: "return" });
      this.#prompt(false);
    }
    this.#isPasting = false;
    this.#reader.write(last + line.slice(cursor));
  }

  #give(answer: { readonly line: string; readonly isPasted: boolean }): void {
    if (this.#resolve) this.#answer(answer);
    // typed ahead while code runs
    else this.#waiting.push(answer);
  }

  #clear(): void {
    clearLine(this.#reader);
    this.#answer("cleared");
  }

  #end(): void {
    this.#ended = true;
    this.#answer("end");
  }

  #answer(answer: ReplLine): void {
    const resolve = this.#resolve;
    this.#resolve = undefined;
    resolve?.(answer);
  }
}

function editorOf(
  input: EditorInput,
  output: NodeJS.WriteStream,
  history: ReplHistory,
  complete: (line: string) => Promise<EditorCompletions>,
): Interface {
  return createInterface({
    ...{ input, output, terminal: true, history: history.lines, historySize: 1000, removeHistoryDuplicates: true },
    completer: (line: string, done: (error: null, result: EditorCompletions) => void) =>
      void complete(line).then((result) => done(null, result)),
  });
}
