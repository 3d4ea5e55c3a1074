import type { RunOptions } from "../../../sessions/runs/run-options.ts";
import type { Session } from "../../../sessions/session.ts";
import { jsonText } from "../format/json-text.ts";
import { printRun } from "../format/print-run.ts";
import { printedExitCode, runExitCode } from "../shell/exit-codes.ts";
import type { Interruption } from "../shell/interruption.ts";
import { pipeLimit } from "../shell/pipe-limit.ts";
import type { Code } from "../shell/read-code.ts";
import type { Terminal } from "../shell/terminal.ts";

/** A program of the command line, and how it runs. */
export interface Program {
  readonly code: Pick<Code, "text" | "from">;
  readonly how: RunOptions;
}

/** Options that decide what is printed. */
export interface PrintFlags {
  readonly json?: boolean | undefined;
  readonly receipt?: boolean | undefined;
  readonly "output-limit"?: string | undefined;
}

/** Runs a program in a session that nobody uses afterwards, prints what it prints, and returns the exit code. */
export async function runAndPrint(
  session: Session,
  { code, how }: Program,
  flags: PrintFlags,
  { terminal, interruption }: { readonly terminal: Terminal; readonly interruption: Interruption },
): Promise<number> {
  const limit = flags.json || flags["output-limit"] !== undefined ? {} : pipeLimit(session.policy, terminal.stdout);
  const run = session.run(code.text, { ...how, ...limit, isStreamed: !flags.json });
  interruption.watch(run);
  if (flags.json) {
    const result = await run;
    const { runJson } = await import("./run-json.ts");
    terminal.stdout.write(jsonText(runJson(result, null)));
    return interruption.exitCode ?? runExitCode(result);
  }
  const result = await printRun(run, terminal, {
    showResult: code.from !== "file",
    hasNext: false,
    showReceipt: flags.receipt,
    lostOutput: () => interruption.lostOutput,
  });
  return interruption.exitCode ?? printedExitCode(result, terminal.stdout);
}
