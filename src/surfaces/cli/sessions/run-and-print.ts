import type { RunResult } from "../../../sessions/runs/run.ts";
import type { RunOptions } from "../../../sessions/runs/run-options.ts";
import type { Session } from "../../../sessions/session.ts";
import { printRun } from "../format/print-run.ts";
import { jsonText } from "../format/text/json-text.ts";
import type { Plots } from "../plots/plots.ts";
import { printedExitCode, runExitCode } from "../shell/exit-codes.ts";
import type { Interruption } from "../shell/interruption.ts";
import { pipeLimit } from "../shell/pipe-limit.ts";
import type { Code } from "../shell/read-code.ts";
import type { Terminal } from "../shell/terminal.ts";
import { discardedHint } from "./discarded-files.ts";
import { missingHint, printHint, projectIn } from "./run-project.ts";

/** A program of the command line, and how it runs. */
export interface Program {
  readonly code: Pick<Code, "text" | "from" | "beside" | "name">;
  readonly how: RunOptions;
}

/** Options that decide what is printed. */
export interface PrintFlags {
  readonly json?: boolean | undefined;
  readonly receipt?: boolean | undefined;
  readonly "output-limit"?: string | undefined;
  readonly projectDir?: string | undefined;
}

/** What a run has around it. */
export interface RunPlace {
  readonly terminal: Terminal;
  readonly interruption: Interruption;
  readonly plots: Plots;
}

/** Runs a program in a session that nobody uses afterwards, prints what it prints, and returns the exit code. */
export async function runAndPrint(
  session: Session,
  { code, how }: Program,
  flags: PrintFlags,
  { terminal, interruption, plots }: RunPlace,
): Promise<number> {
  const limit = flags.json || flags["output-limit"] !== undefined ? {} : pipeLimit(session.policy, terminal.stdout);
  const project = flags.projectDir === undefined ? {} : await projectIn(session, flags.projectDir, code);
  const run = session.run(code.text, { ...how, ...limit, ...project, isStreamed: !flags.json });
  interruption.watch(run);
  const hintFor = async (result: RunResult) =>
    (await missingHint(result, flags, code, session.policy)) ?? discardedHint(result, session.policy);
  if (flags.json) {
    const result = await run;
    const { runJson } = await import("./run-json.ts");
    terminal.stdout.write(jsonText(await runJson(result, { id: null, plots, hint: await hintFor(result) })));
    return interruption.exitCode ?? (runExitCode(result) || plots.exitCode);
  }
  const result = await printRun(run, terminal, {
    showResult: code.from !== "file",
    hasNext: false,
    showReceipt: flags.receipt,
    plots,
    lostOutput: () => interruption.lostOutput,
  });
  printHint(await hintFor(result), terminal);
  return interruption.exitCode ?? (printedExitCode(result, terminal.stdout) || plots.exitCode);
}
