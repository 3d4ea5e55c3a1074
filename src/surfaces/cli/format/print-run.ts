import { previewMime } from "../../../service/replies/image-content.ts";
import type { DisplayEvent, Run, RunResult } from "../../../sessions/runs/run.ts";
import type { Output, Terminal } from "../shell/terminal.ts";
import { formatBytes } from "./format-bytes.ts";
import { shortReceiptText } from "./format-plan.ts";
import { resultRemarks } from "./format-run.ts";
import { noticeHeldOutput } from "./held-output.ts";
import { SafeText, safeText } from "./safe-text.ts";
import { styleFor } from "./style.ts";

export interface PrintOptions {
  /** print the value of the last expression */
  readonly showResult: boolean;
  /** another run may follow in the same session, so report its state */
  readonly hasNext: boolean;
  /** a note to leave out, because the user expects what it says */
  readonly expectedNote?: string | undefined;
  /** print the highlights of the receipt at the end */
  readonly showReceipt?: boolean | undefined;
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
  using _ = noticeHeldOutput(run.log, (notice) => {
    const newline = terminal.stdout.isTTY && terminal.stderr.isTTY && !stdout.isAtLineStart ? "\n" : "";
    terminal.stderr.write(`${newline}${styleFor(terminal.stderr, terminal.env).yellow("codecell:")} ${notice}\n`);
  });
  for await (const event of run) {
    if (event.type === "display") {
      if (event.mime === "text/plain") release();
      if (event.mime === "text/plain") held = new TextDecoder().decode(event.data);
      else if (event.mime.startsWith("image/") && event.mime !== previewMime) stderr.writeLine(mentionImage(event));
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

function mentionImage({ mime, data }: DisplayEvent): string {
  return `[${mime}, ${formatBytes(data.byteLength)}]`;
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

  end(): void {
    const rest = this.#safe?.end() ?? "";
    if (rest !== "") this.#output.write(rest);
    // A remark or the prompt starts on a new line. A pipe gets the program's bytes and nothing else.
    if (!this.#atLineStart && this.#output.isTTY) this.write("\n");
  }
}
