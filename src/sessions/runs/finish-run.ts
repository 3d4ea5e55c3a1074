import { describeArtifacts } from "../../artifacts/artifacts.ts";
import type { HashCache } from "../../artifacts/hash-cache.ts";
import type { WorkspaceFiles } from "../../artifacts/workspace-files.ts";
import type { ChangedFile, DoneMessage, RunStatus } from "../../kernel/messages.ts";
import { CodecellError } from "../../lib/errors.ts";
import { formatSize } from "../../policy/format-units.ts";
import type { EnforcementReceipt } from "../../runners/receipt.ts";
import type { DiskFinding } from "../../runners/runner.ts";
import type { InterpreterState } from "../interpreter/interpreter-state.ts";
import type { SharedCell } from "../shared-cell.ts";
import type { SnapshotRecovery } from "../storage/snapshot-recovery.ts";
import { deniedFileNote } from "./denied-file.ts";
import type { OverdueWatch } from "./overdue-watch.ts";
import type { RunResult } from "./run.ts";
import { endedWithCell, runResult } from "./run-ending.ts";
import type { RunOutput } from "./run-output.ts";

/** How long after a run's own limit the host waits for the supervisor before it ends the whole cell. */
const supervisorGraceMs = 8_000;

const sigkill = 9;

/** Ends that mean a limit, or a crash. */
const harmful: ReadonlySet<RunStatus> = new Set(["timeout", "out_of_memory", "output_limit", "crashed"]);

type FoundFiles = Pick<RunResult, "artifacts" | "leftOut" | "leftOutCount">;
const noFiles: FoundFiles = { artifacts: [], leftOut: [] };

/** What a run needs of its session. */
export interface RunningSession {
  id(): string;
  readonly cell: SharedCell;
  readonly files: WorkspaceFiles | undefined;
  readonly interpreter: InterpreterState;
  /** digests of files that earlier runs made */
  readonly digests: HashCache;
  isAlive(): boolean;
  isClosing(): boolean;
  close(): Promise<void>;
}

/** A run that is running. */
export interface RunCourse {
  /** in its cell */
  readonly id: number;
  /** in its session */
  readonly number: number;
  readonly output: RunOutput;
  interrupt(): void;
  readonly timeoutMs: number;
  readonly overdue: OverdueWatch;
  /** how long it has waited for functions of the host, which does not count as its time */
  waitedMs(): number;
  /** by the clock of `performance` */
  readonly started: number;
  /** what the interpreter lost before the run ended */
  readonly lost: string[];
  readonly signal: AbortSignal | undefined;
  /** how much output is kept, if it is not the policy's `proc.output` */
  readonly limitBytes: number | undefined;
  /** The session is free for its next run. */
  drop(): void;
}

/** Waits until a run ends, in whatever way, and makes its result. */
export async function finishRun(
  session: RunningSession,
  course: RunCourse,
  reply: Promise<DoneMessage>,
): Promise<RunResult> {
  const abort = () => course.interrupt();
  let isOverdue = false;
  let isHarmful = false;
  const limitAt = performance.now() + course.timeoutMs + supervisorGraceMs;
  try {
    if (course.signal?.aborted) abort();
    course.signal?.addEventListener("abort", abort, { once: true });
    // The supervisor stops a run at its limit. This ends the cell if the supervisor itself does not answer.
    course.overdue.begin({
      dueAt: () => limitAt + course.waitedMs(),
      onOverdue: () => {
        isOverdue = true;
        // Ends the cell for all sessions in it: a stuck supervisor answers none of them.
        void session.cell.end().catch(() => {});
        void session.close().catch(() => {});
      },
    });
    let done: DoneMessage;
    try {
      done = await reply;
    } catch (error) {
      done = await cellEnded(session, course.id, error, isOverdue);
    }
    course.overdue.end();
    const { recovery } = session.interpreter;
    const ended = recovery ? await recovered(session, recovery, done) : done;
    isHarmful = harmful.has(ended.status);
    return isPlain(session, ended) ? plainResult(session, course, ended) : await resultOf(session, course, ended);
  } finally {
    session.cell.runEnds(isHarmful);
    course.overdue.end();
    course.drop();
    course.signal?.removeEventListener("abort", abort);
  }
}

/** The cell died during the run: this is a result and not an error. */
async function cellEnded(
  session: RunningSession,
  id: number,
  error: unknown,
  isOverdue: boolean,
): Promise<DoneMessage> {
  if (!(error instanceof CodecellError) || error.code !== "cell_lost") throw error;
  const ending = isOverdue ? "overdue" : session.isClosing() ? "closed" : "died";
  const reason = ending === "died" ? await session.cell.whyEnded() : undefined;
  if (ending !== "closed") void session.close().catch(() => {});
  return endedWithCell(id, ending, error, reason);
}

/** If the run killed the interpreter, restores the variables from the host's snapshot. */
async function recovered(session: RunningSession, recovery: SnapshotRecovery, done: DoneMessage): Promise<DoneMessage> {
  if (done.state !== "lost") recovery.changed();
  if (done.state !== "lost" || !session.isAlive()) return done;
  const { run, notes } = await recovery.recover("in a run");
  const state = run === undefined ? {} : ({ state: "recovered", recoveredTo: run } as const);
  return { ...done, ...state, notes: [...done.notes, ...notes] };
}

/** Whether the host has nothing to look up, as after most runs: they change no file and have no network. */
function isPlain(
  { cell, interpreter, isAlive }: RunningSession,
  { status, files, filesComplete, error }: DoneMessage,
): boolean {
  const isUnchanged =
    cell.disk?.isWithinLimit !== false && !files?.length && filesComplete !== false && cell.network === undefined;
  const isCalm = status !== "crashed" && error === undefined && !interpreter.recovering && !interpreter.recovery;
  return isUnchanged && isCalm && isAlive();
}

/** The same as `resultOf` for such a run, without an await. */
function plainResult({ cell }: RunningSession, course: RunCourse, done: DoneMessage): RunResult {
  const { lost, limitBytes, signal, started } = course;
  return runResult(course, done, {
    status: statusOf(done, signal),
    durationMs: performance.now() - started,
    lost,
    artifacts: noFiles.artifacts,
    leftOut: noFiles.leftOut,
    egress: undefined,
    receipt: limitBytes === undefined ? cell.receipt : receiptOf(cell.receipt, limitBytes),
  });
}

async function resultOf(session: RunningSession, course: RunCourse, done: DoneMessage): Promise<RunResult> {
  const durationMs = performance.now() - course.started;
  const { cell, files, interpreter } = session;
  const { lost } = course;
  const disk = await cell.disk?.afterRun(done.files !== undefined && done.files.length > 0);
  const found = files && done.files?.length ? await artifacts(session, course.id, files, done.files) : noFiles;
  const egress = cell.network ? await cell.network.take() : undefined;
  const { recovering } = interpreter;
  if (recovering) await recovering;
  if (interpreter.recovery || !session.isAlive()) interpreter.giveNews(lost);
  const status = done.status === "crashed" ? await crashed(cell, done) : statusOf(done, course.signal);
  const denied = done.error && deniedFileNote(done.error, cell.rules.policy);
  const told = disk ? withDisk(done, disk) : done;
  const receipt = course.limitBytes === undefined ? cell.receipt : receiptOf(cell.receipt, course.limitBytes);
  return runResult(course, denied ? { ...told, notes: [...told.notes, denied] } : told, {
    ...{ status, durationMs, lost, ...found, egress, receipt },
    ...(files === undefined && done.files?.length ? { discarded: done.files.map(({ path }) => path) } : {}),
  });
}

/** The receipt of a run with an output limit of its own. */
function receiptOf(receipt: EnforcementReceipt, outputBytes: number): EnforcementReceipt {
  const rules = receipt.rules.map((row) => {
    return row.rule === "proc.output"
      ? { ...row, value: formatSize(outputBytes), how: `for this run; ${row.how}` }
      : row;
  });
  return { ...receipt, rules };
}

/** The run wrote more than `proc.disk`: its cell may have been ended for it. */
function withDisk(done: DoneMessage, { isEnded, notes }: DiskFinding): DoneMessage {
  if (notes.length === 0 || (isEnded && done.state === "lost")) return done;
  return { ...done, ...(isEnded ? { state: "lost" as const } : {}), notes: [...done.notes, ...notes] };
}

/** The cell's list of changed files is a hint: the host opens and checks each file itself. */
function artifacts(
  { cell, digests }: RunningSession,
  run: number,
  files: WorkspaceFiles,
  told: readonly ChangedFile[],
): Promise<FoundFiles> {
  const changed = told.filter((file) => cell.given.get(file.path) !== `${file.size} ${file.modifiedMs}`);
  return describeArtifacts(files, changed, {}, { run, cache: digests });
}

/** Only the host can tell an OOM kill from another SIGKILL, by the Linux kernel's counter. A cell that died names no signal. */
async function crashed(cell: SharedCell, { signal = sigkill, exitCode }: DoneMessage): Promise<RunStatus> {
  const isStruck = await cell.struckByMemoryKiller();
  return isStruck && signal === sigkill && exitCode === undefined ? "out_of_memory" : "crashed";
}

function statusOf({ status }: DoneMessage, signal: AbortSignal | undefined): RunStatus {
  return status === "interrupted" && signal?.aborted ? "cancelled" : status;
}
