import { CodecellError } from "../../lib/errors.ts";
import type { Run, RunResult } from "../../sessions/runs/run.ts";
import type { RunOptions } from "../../sessions/runs/run-options.ts";
import type { Session } from "../../sessions/session.ts";
import { type CellProgram, cellProgram, type ProgramToRun } from "./cell-program.ts";
import { type NotebookOutput, notebookOutputs, type OutputEvent, streamOutput } from "./notebook-output.ts";
import { maxNotebookBytes, type Notebook, type NotebookCell } from "./read-notebook.ts";
import { type CellContent, writeNotebook, writtenBytes } from "./write-notebook.ts";

/** A code cell that was run; `refused`: it has a magic that codecell does not have. */
export interface CellOutcome {
  readonly cell: NotebookCell;
  readonly status: RunResult["status"] | "refused";
  readonly result: RunResult | undefined;
  /** what went wrong, in one line */
  readonly problem: string | undefined;
  /** what codecell itself adds to the output: the duration, for `%%time` */
  readonly addition: string | undefined;
  /** a failure that `raises-exception` expects, or that `allowErrors` permits */
  readonly isTolerated: boolean;
}

export interface ExecuteOptions {
  /** a cell that raises an exception does not stop the notebook */
  readonly allowErrors?: boolean | undefined;
  readonly run?: Pick<RunOptions, "args" | "signal" | "timeout">;
  /** A cell starts. */
  onCell?(cell: NotebookCell, notes: readonly string[]): void;
  /** Follows a run to its end, unless `%%capture` hides it; by default nobody does. It must not drop the run's events. */
  follow?(run: Run, cell: NotebookCell): Promise<RunResult>;
  /** A cell ended. */
  onCellEnd?(outcome: CellOutcome): Promise<void> | void;
}

/** Runs the code cells of a notebook one after the other, and gathers their outputs. */
export class NotebookExecution {
  readonly notebook: Notebook;
  readonly outcomes: CellOutcome[] = [];
  #programs: ReadonlyMap<NotebookCell, CellProgram>;
  readonly #contents = new Map<NotebookCell, CellContent>();
  /** bytes that outputs may still take: a notebook that is too large could not be opened again */
  #room: number;

  constructor(notebook: Notebook) {
    this.notebook = notebook;
    const cells = notebook.cells.filter(({ type, tags }) => type === "code" && !tags.includes("skip-execution"));
    this.#programs = new Map(cells.map((cell) => [cell, cellProgram(cell.source, notebook.language)]));
    // Outputs of an earlier run would look as if they belonged to this one. A skipped cell keeps its outputs.
    for (const cell of cells) this.#contents.set(cell, { outputs: [], executionCount: null });
    const bytes = Buffer.byteLength(writeNotebook(notebook, this.#contents));
    this.#room = maxNotebookBytes - bytes - cells.length * cellRoom;
  }

  /** The policy lets programs install packages (kernel.packages.inside): the kernel performs `%pip install`. */
  allowInstalls(): void {
    const cells = [...this.#programs.keys()];
    this.#programs = new Map(cells.map((cell) => [cell, cellProgram(cell.source, this.notebook.language, true)]));
  }

  /** What the code cells have now; one that was skipped has nothing here. */
  get contents(): ReadonlyMap<NotebookCell, CellContent> {
    return this.#contents;
  }

  /** How many cells have something to run. */
  get cellCount(): number {
    return [...this.#programs.values()].filter(({ kind }) => kind !== "empty").length;
  }

  /** Throws if a cell has a magic that codecell does not have: better now than after an hour. */
  check({ allowErrors = false }: ExecuteOptions = {}): void {
    for (const [cell, program] of this.#programs) {
      if (program.kind !== "refused" || isTolerant(cell, allowErrors)) continue;
      throw new CodecellError("usage", refusal(cell, program), {
        hint: `remove that line, or give the cell the tag skip-execution; nothing was run. ${magicsHint}`,
      });
    }
  }

  /** Runs the cells up to the first failure, which is the last outcome then. Rejects if codecell itself fails. */
  async run(session: Session, options: ExecuteOptions = {}): Promise<void> {
    this.check(options);
    const lacksShell = await this.#lacksShell(session, options);
    for (const [cell, program] of this.#programs) {
      if (program.kind === "empty") continue;
      options.onCell?.(cell, program.kind === "run" ? program.notes : []);
      const outcome =
        program.kind === "refused" || (lacksShell && needsShell(program))
          ? this.#refuse(cell, program.kind === "refused" ? refusal(cell, program) : noShell(cell, session))
          : await this.#runCell(session, cell, program, options);
      // Only the last result is asked for as a whole. Those of many cells would fill the memory of the host.
      const before = this.outcomes.pop();
      if (before) this.outcomes.push({ ...before, result: before.result && withoutOutput(before.result) });
      this.outcomes.push(outcome);
      await options.onCellEnd?.(outcome);
      if (outcome.status !== "ok" && !outcome.isTolerated) return;
    }
  }

  /** Whether cells need a shell that the runner does not have. Throws unless these may fail. */
  async #lacksShell(session: Session, { allowErrors = false }: ExecuteOptions): Promise<boolean> {
    const needy = [...this.#programs].filter(([, program]) => needsShell(program));
    if (needy.length === 0 || (await session.languages()).includes("bash")) return false;
    const strict = needy.find(([cell]) => !isTolerant(cell, allowErrors));
    if (!strict) return true;
    throw new CodecellError("language_unavailable", noShell(strict[0], session), {
      hint: "use another runner, or give the cell the tag skip-execution; nothing was run",
    });
  }

  /** The outputs of a cell, or a note if the notebook has no room for them. */
  #fitting(cell: NotebookCell, content: CellContent): CellContent {
    const bytes = writtenBytes(this.notebook, cell, content);
    if (bytes <= this.#room) {
      this.#room -= bytes;
      return content;
    }
    const note = `codecell: ${bytes} bytes of output are left out, because a notebook has at most ${maxNotebookBytes / 1024 / 1024} MiB\n`;
    return { ...content, outputs: [streamOutput("stderr", note)] };
  }

  #refuse(cell: NotebookCell, evalue: string): CellOutcome {
    const outputs: NotebookOutput[] = [
      { output_type: "error", ename: "UsageError", evalue, traceback: [`UsageError: ${evalue}`] },
    ];
    this.#contents.set(cell, { outputs, executionCount: null });
    return { cell, status: "refused", result: undefined, problem: evalue, addition: undefined, isTolerated: true };
  }

  async #runCell(
    session: Session,
    cell: NotebookCell,
    program: ProgramToRun,
    { allowErrors = false, run: how = {}, follow }: ExecuteOptions,
  ): Promise<CellOutcome> {
    const run = session.run(program.code, { ...how, language: program.language });
    const result = follow && !program.isCaptured ? await follow(run, cell) : await run;
    const addition = program.isTimed ? `Wall time: ${timeText(result.durationMs)}\n` : undefined;
    const problem = problemOf(result);
    const events: OutputEvent[] = [];
    for await (const event of run) events.push(event);
    const { id: executionCount, status, value, error } = result;
    const outputs = [
      ...program.notes.map((note) => streamOutput("stderr", `codecell: ${note}\n`)),
      ...(program.isCaptured
        ? notebookOutputs([], { executionCount, status, error, reason: problem })
        : notebookOutputs(events, { executionCount, status, value, error, reason: problem })),
      ...(addition === undefined ? [] : [streamOutput("stdout", addition)]),
    ];
    this.#contents.set(cell, this.#fitting(cell, { outputs, executionCount }));
    // After a timeout or a crash, the variables that later cells need may be gone.
    const isTolerated = status === "error" && isTolerant(cell, allowErrors);
    return { cell, status, result, problem, addition, isTolerated };
  }
}

/** For the note of a cell whose outputs do not fit, and what else is added to a cell. */
const cellRoom = 400;

function withoutOutput(result: RunResult): RunResult {
  return { ...result, stdout: "", stderr: "", value: undefined, displays: [] };
}

const magicsHint = "docs/notebooks.md lists the magics that work";

function isTolerant({ tags }: NotebookCell, allowErrors: boolean): boolean {
  return allowErrors || tags.includes("raises-exception");
}

function needsShell(program: CellProgram): boolean {
  return program.kind === "run" && (program.needsShell || program.language === "bash");
}

function noShell({ number }: NotebookCell, { runner }: Session): string {
  return `cell ${number} runs commands of a shell, which the ${runner} runner does not have`;
}

function refusal(cell: NotebookCell, { line, problem }: Extract<CellProgram, { kind: "refused" }>): string {
  return `cell ${cell.number}, line ${line}: ${problem}`;
}

const endings: Readonly<Record<RunResult["status"], string>> = {
  ok: "",
  error: "failed",
  timeout: "timed out",
  interrupted: "was interrupted",
  cancelled: "was cancelled",
  out_of_memory: "ran out of memory",
  output_limit: "exceeded its output limit",
  crashed: "crashed the interpreter",
};

function problemOf({ status, error, durationMs, exitCode }: RunResult): string | undefined {
  if (status === "ok") return undefined;
  if (error) return error.message === "" ? error.name : `${error.name}: ${error.message}`;
  if (status === "error" && exitCode !== undefined) return `the cell failed with exit code ${exitCode}`;
  return `the cell ${endings[status]}${status === "timeout" ? ` after ${timeText(durationMs)}` : ""}`;
}

export function timeText(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}
