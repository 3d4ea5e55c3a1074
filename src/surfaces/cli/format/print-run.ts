import type { DisplayEvent, Run, RunResult } from "../../../sessions/runs/run.ts";
import type { Plots } from "../plots/plots.ts";
import type { RunPlots } from "../plots/run-plots.ts";
import type { Output, Terminal } from "../shell/terminal.ts";
import { shortReceiptText } from "./format-plan.ts";
import { resultRemarks } from "./format-run.ts";
import { noticeHeldOutput } from "./held-output.ts";
import { SafeText, safeText } from "./text/safe-text.ts";
import { styleFor } from "./text/style.ts";

export interface PrintOptions {
  /** print the value of the last expression */
  readonly showResult: boolean;
  /** another run may follow in the same session, so report its state */
  readonly hasNext: boolean;
  /** a note to leave out, because the user expects what it says */
  readonly expectedNote?: string | undefined;
  /** print the highlights of the receipt at the end */
  readonly showReceipt?: boolean | undefined;
  /** where displays are saved, and how they are shown */
  readonly plots: Plots;
  /** whether the run was cancelled because its output is lost: the caller knows why it ended */
  readonly lostOutput?: () => boolean;
}

/** Prints a run's output while it is running, then remarks on its result. */
export async function printRun(run: Run, terminal: Terminal, options: PrintOptions): Promise<RunResult> {
  const stdout = new ProgramOutput(terminal.stdout);
  const stderr = new ProgramOutput(terminal.stderr);
  /** Text of the latest display, not printed yet: the value of a last expression arrives both as a display and as the result. */
  let held: string | undefined;
  const release = () => {
    if (held !== undefined) stdout.writeLine(held);
    held = undefined;
  };
  const style = styleFor(terminal.stderr, terminal.env);
  const areTerminals = terminal.stdout.isTTY && terminal.stderr.isTTY;
  const newline = () => (areTerminals && !stdout.isAtLineStart ? "\n" : "");
  using _ = noticeHeldOutput(run.log, (notice) => {
    terminal.stderr.write(`${newline()}${style.yellow("codecell:")} ${notice}\n`);
  });
  let plots: RunPlots | undefined;
  /** the latest displayed value that has a text */
  let textOf: number | undefined;
  const show = async (event: DisplayEvent) => {
    const { columns } = terminal.stdout;
    plots ??= await options.plots.ofRun();
    const { line, inline } = await plots.add(event, { columns, hasText: event.display === textOf });
    if (inline !== undefined) stdout.writeOwn(inline);
    if (line === undefined) return;
    stderr.writeOwn(`${newline()}${style.yellow("codecell:")} ${line}\n`);
  };
  for await (const event of run) {
    if (event.type === "display") {
      if (event.mime === "text/plain") release();
      if (event.mime !== "text/plain") await show(event);
      else {
        textOf = event.display;
        held = new TextDecoder().decode(event.data);
      }
    } else {
      release();
      (event.type === "stdout" ? stdout : stderr).write(event.text);
    }
  }
  const result = await run;
  if (held !== result.value) release();
  if (options.showResult && result.value !== undefined) stdout.writeLine(result.value);
  stdout.end();
  const { error } = result;
  // Like Python itself, print no traceback for sys.exit(3).
  if (error?.traceback && error.name !== "SystemExit") stderr.writeLine(error.traceback.trimEnd());
  stderr.end();
  for (const remark of plots?.end() ?? []) terminal.stderr.write(`${style.yellow("codecell:")} ${safeText(remark)}\n`);
  if (!options.lostOutput?.()) printRemarks(result, terminal, options);
  if (options.showReceipt) printReceipt(result, terminal);
  return result;
}

function printRemarks(result: RunResult, terminal: Terminal, options: PrintOptions): void {
  const style = styleFor(terminal.stderr, terminal.env);
  for (const remark of resultRemarks(result, options)) {
    terminal.stderr.write(`${style.yellow("codecell:")} ${safeText(remark)}\n`);
  }
}

function printReceipt({ receipt }: RunResult, { stderr, env }: Terminal): void {
  const text = shortReceiptText(
    receipt,
    styleFor(stderr, env),
    stderr.columns,
    "`codecell run --json` prints the whole receipt",
  );
  stderr.write(`\n${text}`);
}

/** A program's output: escaped on a terminal, unchanged elsewhere. */
class ProgramOutput {
  readonly #output: Output;
  readonly #safe: SafeText | undefined;
  #atLineStart = true;

  constructor(output: Output) {
    this.#output = output;
    this.#safe = output.isTTY ? new SafeText() : undefined;
  }

  get isAtLineStart(): boolean {
    return this.#atLineStart;
  }

  write(text: string): void {
    if (text === "") return;
    this.#atLineStart = text.endsWith("\n");
    this.#output.write(this.#safe ? this.#safe.push(text) : text);
  }

  /** Writes text on its own lines. */
  writeLine(text: string): void {
    this.write(`${this.#atLineStart ? "" : "\n"}${text}\n`);
  }

  /** Writes whole lines that codecell itself made, such as a picture, which would not pass as text of the program. */
  writeOwn(lines: string): void {
    this.#output.write(`${this.#safe?.end() ?? ""}${this.#atLineStart ? "" : "\n"}${lines}`);
    this.#atLineStart = true;
  }

  end(): void {
    const rest = this.#safe?.end() ?? "";
    if (rest !== "") this.#output.write(rest);
    // A remark or the prompt starts on a new line. A pipe gets the program's bytes and nothing else.
    if (!this.#atLineStart && this.#output.isTTY) this.write("\n");
  }
}
