import { printable } from "../../../policy/file/problem.ts";
import type { CellOutcome } from "../../../service/notebook/execute-notebook.ts";
import type { NotebookCell } from "../../../service/notebook/read-notebook.ts";
import { plural } from "../format/text/plural.ts";
import { styleFor } from "../format/text/style.ts";
import type { Terminal } from "../shell/terminal.ts";

/** Says on stderr which cell runs, and how the notebook ended. */
export class NotebookProgress {
  readonly #terminal: Terminal;
  readonly #count: number;

  constructor(terminal: Terminal, count: number) {
    this.#terminal = terminal;
    this.#count = count;
  }

  cell({ number, source }: NotebookCell, notes: readonly string[]): void {
    const { stderr, env } = this.#terminal;
    const first = source.split("\n", 50).find((line) => line.trim() !== "") ?? "";
    const style = styleFor(stderr, env);
    stderr.write(`${style.dim(`[cell ${number} of ${this.#count}] ${printable(first.trim(), 60)}`)}\n`);
    for (const note of notes) this.remark(note);
  }

  remark(text: string): void {
    const { stderr, env } = this.#terminal;
    stderr.write(`${styleFor(stderr, env).yellow("codecell:")} ${printable(text, 2000)}\n`);
  }

  stopped({ cell, problem = "it failed" }: CellOutcome, left: number): void {
    const rest = left === 0 ? "" : `; ${plural(left, "cell")} after it ${left === 1 ? "was" : "were"} not run`;
    this.remark(`cell ${cell.number} stopped the notebook: ${printable(problem.split("\n", 1)[0] ?? "", 300)}${rest}`);
  }
}
