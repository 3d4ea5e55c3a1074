import { relative, resolve } from "node:path";
import { config as configureZod } from "zod";
import { CodecellError } from "../../../lib/errors.ts";
import { type ExecuteOptions, NotebookExecution } from "../../../service/notebook/execute-notebook.ts";
import { readNotebook } from "../../../service/notebook/read-notebook.ts";
import { writeNotebook } from "../../../service/notebook/write-notebook.ts";
import { encodeNotebookRun } from "../../../service/wire/runs/notebook-run.ts";
import type { Session } from "../../../sessions/session.ts";
import { checkSessionId } from "../../../sessions/session-id.ts";
import type { CommandContext } from "../command.ts";
import { sessionRemarks } from "../format/format-session-run.ts";
import { printRun } from "../format/print-run.ts";
import { jsonText } from "../format/text/json-text.ts";
import { packageHint } from "../packages/package-hint.ts";
import { openPlots } from "../plots/open-plots.ts";
import type { Plots } from "../plots/plots.ts";
import type { PolicyFlags } from "../policy/policy-options.ts";
import { bringBack } from "../sessions/bring-back.ts";
import { keepSession } from "../sessions/keep-session.ts";
import { openForCommand } from "../sessions/open-for-command.ts";
import { openCommandLogger } from "../shell/command-logger.ts";
import { runExitCode } from "../shell/exit-codes.ts";
import { Interruption } from "../shell/interruption.ts";
import type { LogFlags } from "../shell/log-options.ts";
import type { StateFlags } from "../shell/state-dir.ts";
import type { Terminal } from "../shell/terminal.ts";
import {
  type NotebookTarget,
  notebookTarget,
  readNotebookFile,
  type TargetFlags,
  writeNotebookFile,
} from "./notebook-file.ts";
import { NotebookProgress } from "./notebook-progress.ts";

export interface NotebookFlags extends PolicyFlags, StateFlags, LogFlags, TargetFlags {
  readonly session?: string | undefined;
  readonly language?: string | undefined;
  readonly project?: string | undefined;
  readonly plots?: string | undefined;
  readonly images?: string | undefined;
  readonly warm?: boolean | undefined;
  readonly json?: boolean | undefined;
  readonly receipt?: boolean | undefined;
  readonly "allow-errors"?: boolean | undefined;
}

/** How long cells may run before the outputs so far are written: what a kill of this process may cost. */
const saveEveryMs = 10_000;

/** A notebook, checked and ready to run. */
interface PreparedNotebook {
  readonly execution: NotebookExecution;
  readonly target: NotebookTarget;
  readonly source: string;
  readonly args: readonly string[];
}

/** Runs a notebook cell by cell in one session, prints what the cells print, and writes a notebook with their outputs. */
export async function runNotebook(
  file: string,
  args: readonly string[],
  flags: NotebookFlags,
  context: CommandContext,
): Promise<number> {
  const { terminal } = context;
  refuseFlags(flags);
  const source = resolve(terminal.cwd, file);
  const execution = new NotebookExecution(readNotebook(await readNotebookFile(source, file), file));
  execution.check(options(flags));
  const target = await notebookTarget(source, flags, terminal.cwd);
  const id = flags.session === undefined ? undefined : checkSessionId(flags.session);
  if (context.ownsProcess) configureZod({ jitless: true });
  using interruption = new Interruption(terminal);
  try {
    await using plots = await openPlots(flags, terminal, id);
    using logger = openCommandLogger(flags, terminal);
    const rules = { persist: id !== undefined, isForOneCell: id === undefined };
    await using codecell = await openForCommand(flags, context, logger, rules);
    if (codecell.policy.kernel.packages.inside) execution.allowInstalls();
    interruption.signal.throwIfAborted();
    const end = () => void codecell[Symbol.asyncDispose]().catch(() => {});
    interruption.signal.addEventListener("abort", end, { once: true });
    const session = await codecell.session(id);
    if (id !== undefined) await bringBack(session);
    const notebook = { execution, target, source, args };
    const closed = () => codecell.close();
    const exitCode = await runCells(session, notebook, flags, { terminal, interruption, plots, closed });
    return interruption.exitCode ?? exitCode;
  } catch (error) {
    // A signal makes the current step fail with some error. Report the signal, not that error.
    if (interruption.exitCode !== undefined) return interruption.exitCode;
    throw error;
  }
}

async function runCells(
  session: Session,
  { execution, target, source, args }: PreparedNotebook,
  flags: NotebookFlags,
  {
    terminal,
    interruption,
    plots,
    closed,
  }: {
    readonly terminal: Terminal;
    readonly interruption: Interruption;
    readonly plots: Plots;
    closed(): Promise<void>;
  },
): Promise<number> {
  const { notebook, outcomes } = execution;
  const progress = new NotebookProgress(terminal, notebook.cells.length);
  let savedAt = performance.now();
  const save = async () => {
    await writeNotebookFile(target, writeNotebook(notebook, execution.contents));
    savedAt = performance.now();
  };
  try {
    await execution.run(session, {
      ...options(flags),
      run: args.length > 0 ? { args } : {},
      onCell: (cell, notes) => {
        if (!flags.json) progress.cell(cell, notes);
      },
      follow: async (run) => {
        interruption.watch(run);
        const printed = {
          ...{ showResult: true, hasNext: true, plots, lostOutput: () => interruption.lostOutput },
          // Once: it is the same for every cell.
          showReceipt: flags.receipt && outcomes.length === 0,
        };
        const result = flags.json ? await run : await printRun(run, terminal, printed);
        interruption.watch(undefined);
        return result;
      },
      onCellEnd: async ({ addition }) => {
        if (!flags.json && addition !== undefined) terminal.stdout.write(addition);
        if (performance.now() - savedAt > saveEveryMs) await save();
      },
    });
  } finally {
    // Also after a failure or a signal: the outputs of the cells before it may have taken hours.
    if (outcomes.length > 0) await save();
  }
  const last = outcomes.at(-1);
  const isStopped = last !== undefined && last.status !== "ok" && !last.isTolerated;
  const left = execution.cellCount - outcomes.length;
  const kept =
    flags.session === undefined || !last?.result
      ? undefined
      : await keepSession(session, last.result, terminal, closed);
  const written = outcomes.length > 0 ? target.path : undefined;
  if (flags.json) {
    const facts = { notebook: source, output: written, sessionId: flags.session, outcomes, runner: session.runner };
    terminal.stdout.write(jsonText(encodeNotebookRun({ ...facts, cellCount: execution.cellCount })));
  } else {
    if (isStopped) progress.stopped(last, left);
    const hint = isStopped && last.result ? packageHint(last.result) : undefined;
    if (hint !== undefined) progress.remark(hint);
    if (kept) {
      const nothing = { artifacts: [], leftOut: [], runner: session.runner };
      for (const remark of sessionRemarks(session.id, nothing, kept, { hasFiles: true })) progress.remark(remark);
    }
    progress.remark(
      written === undefined
        ? "the notebook has no code; nothing was written"
        : `wrote ${relative(terminal.cwd, written)}`,
    );
  }
  const cellCode = isStopped && last.result ? runExitCode(last.result) : 0;
  return cellCode || (kept?.exitCode ?? 0) || plots.exitCode;
}

function options(flags: NotebookFlags): ExecuteOptions {
  return { allowErrors: flags["allow-errors"] };
}

function refuseFlags({ language, project, warm }: NotebookFlags): void {
  if (project !== undefined) {
    throw new CodecellError("usage", "--project is not for notebooks", {
      hint: "mount the directory: --mount DIR:/data",
    });
  }
  if (language !== undefined) {
    throw new CodecellError("usage", "--language is not for notebooks", {
      hint: "the notebook itself names its language",
    });
  }
  if (warm) {
    throw new CodecellError("usage", "--warm is not for notebooks", {
      hint: "leave it out: the notebook gets a fresh cell",
    });
  }
}
