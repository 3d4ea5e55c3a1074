import { availableParallelism, totalmem } from "node:os";
import type { Artifact, LeftOut } from "../../artifacts/artifact.ts";
import type { DoneMessage, RunStatus } from "../../kernel/messages.ts";
import type { CodecellError } from "../../lib/errors.ts";
import type { EnforcementReceipt } from "../../runners/receipt.ts";
import { egressNotes, type RunEgress } from "../network/egress-record.ts";
import { fileNotes } from "./file-notes.ts";
import type { RunResult, RunUsage } from "./run.ts";
import type { RunOutput } from "./run-output.ts";

const processors = availableParallelism();
const memoryBytes = totalmem();

/** What the host found out about a run, besides the cell's own report. */
export interface RunFindings {
  readonly status: RunStatus;
  readonly durationMs: number;
  /** what was lost before the end of the run */
  readonly lost: readonly string[];
  readonly artifacts: readonly Artifact[];
  readonly leftOut: readonly LeftOut[];
  readonly leftOutCount?: number;
  readonly discarded?: readonly string[];
  readonly egress: RunEgress | undefined;
  readonly receipt: EnforcementReceipt;
}

/** The result of a run, from what the cell says and what the host found. */
export function runResult(
  { number, output }: { readonly number: number; readonly output: RunOutput },
  done: DoneMessage,
  findings: RunFindings,
): RunResult {
  const { status, durationMs, lost, artifacts, leftOut, egress, receipt } = findings;
  const { stdout, stderr, displays } = output.gathered();
  const result: RunResult = {
    id: number,
    status,
    state: done.state,
    exitCode: done.exitCode,
    stdout,
    stderr,
    displays,
    value: done.result,
    error: done.error,
    truncated: output.wasTruncated(done) || done.resultTruncated === true,
    stdoutBytes: done.stdoutBytes,
    stderrBytes: done.stderrBytes,
    leftOutBytes: output.leftOut(done),
    notes: [...lost, ...done.notes, ...fileNotes(done, findings), ...(egress ? egressNotes(egress) : [])],
    recoveredTo: done.recoveredTo,
    artifacts,
    leftOut,
    durationMs,
    usage: usageOf(done, durationMs, egress),
    runner: receipt.runner,
    receipt,
  };
  return isOrdinary(done, findings) ? result : { ...result, ...rareFields(done, findings) };
}

/** Whether the result has only the fields that every result has. Literals without `...` take a fraction of the time. */
function isOrdinary({ line }: DoneMessage, { leftOutCount, discarded, egress }: RunFindings): boolean {
  return line === undefined && leftOutCount === undefined && discarded === undefined && egress === undefined;
}

function rareFields(
  { line }: DoneMessage,
  { leftOut, leftOutCount = 0, discarded, egress }: RunFindings,
): Partial<RunResult> {
  return {
    ...(line === undefined ? {} : { stoppedAtLine: line }),
    ...(leftOutCount > leftOut.length ? { leftOutCount } : {}),
    ...(discarded ? { discarded } : {}),
    ...(egress ? { egress } : {}),
  };
}

/** The cell's figures are untrusted: they are limited to what this machine can provide in that time. */
export function usageOf(
  { cpuUs, peakBytes }: Pick<DoneMessage, "cpuUs" | "peakBytes">,
  wallMs: number,
  egress: RunEgress | undefined,
): RunUsage {
  return {
    cpuMs: cpuUs === undefined ? undefined : Math.min(cpuUs / 1000, wallMs * processors),
    peakMemoryBytes: peakBytes === undefined ? undefined : Math.min(peakBytes, memoryBytes),
    wallMs,
    sentBytes: egress?.sentBytes ?? 0,
    receivedBytes: egress?.receivedBytes ?? 0,
  };
}

/** How a cell ended during a run: it did not answer in time, its session was closed, or it died. */
export type CellEnding = "overdue" | "closed" | "died";

const endingStatus: Record<CellEnding, RunStatus> = { overdue: "timeout", closed: "cancelled", died: "crashed" };

/** The end of a run whose cell has ended: a result and not an error. `reason` is what the runner knows about it. */
export function endedWithCell(
  id: number,
  ending: CellEnding,
  error: CodecellError,
  reason?: Pick<CodecellError, "message" | "hint">,
): DoneMessage {
  const why: Record<CellEnding, string> = {
    overdue: "the cell did not respond and was killed",
    closed: "the session was closed",
    died: reason === undefined ? error.message : `${error.message}: ${reason.message}`,
  };
  const notes = [why[ending], ...(reason?.hint === undefined ? [] : [reason.hint]), "the session ended"];
  return { t: "done", id, status: endingStatus[ending], state: "lost", stdoutBytes: 0, stderrBytes: 0, notes };
}
