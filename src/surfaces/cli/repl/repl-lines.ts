import { createInterface, type Interface } from "node:readline";
import type { Terminal } from "../shell/terminal.ts";
import type { ReplHistory } from "./repl-history.ts";

/** A typed line; `cleared`: Ctrl-C at the prompt; `end`: Ctrl-D or the end of the file. */
export type ReplLine = { readonly line: string } | "cleared" | "end";

/** Lines from a person, with editing and history, or from a pipe. */
export class ReplLines implements Disposable {
  readonly #reader: Interface;
  readonly #isInteractive: boolean;
  readonly #waitingLines: string[] = [];
  #ended = false;
  #resolve: ((line: ReplLine) => void) | undefined;

  /** `onInterrupt`: Ctrl-C while no line is being read. */
  constructor(terminal: Terminal, history: ReplHistory, onInterrupt: () => void) {
    const { interactive } = terminal;
    this.#isInteractive = interactive !== undefined;
    this.#reader = interactive
      ? createInterface({ ...interactive, history: history.lines, historySize: 1000, removeHistoryDuplicates: true })
      : createInterface({ input: terminal.stdin, terminal: false });
    this.#reader.on("line", (line) => this.#give({ line }));
    this.#reader.on("history", (lines) => {
      history.lines = lines;
    });
    this.#reader.on("close", () => this.#end());
    // The editor holds the terminal in raw mode, where Ctrl-C is a key and not a signal.
    this.#reader.on("SIGINT", () => (this.#resolve ? this.#clear() : onInterrupt()));
  }

  next(prompt: string): Promise<ReplLine> {
    const line = this.#waitingLines.shift();
    if (line !== undefined) return Promise.resolve({ line });
    if (this.#ended) return Promise.resolve("end");
    if (this.#isInteractive) {
      this.#reader.setPrompt(prompt);
      this.#reader.prompt();
    }
    return new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  /** Ends the input: a pending `next()` resolves with `end`. */
  end(): void {
    this.#reader.close();
  }

  [Symbol.dispose](): void {
    this.#reader.close();
  }

  #give(answer: { line: string }): void {
    if (this.#resolve) this.#answer(answer);
    // typed ahead while code runs
    else this.#waitingLines.push(answer.line);
  }

  #clear(): void {
    // Ctrl-E, Ctrl-U: drop the whole line, wherever the cursor is
    this.#reader.write(null, { ctrl: true, name: "e" });
    this.#reader.write(null, { ctrl: true, name: "u" });
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
