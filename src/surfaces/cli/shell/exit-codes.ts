import type { CodecellErrorCode } from "../../../lib/errors.ts";
import type { RunResult } from "../../../sessions/runs/run.ts";
import type { RunStatus } from "../sessions/session-types.ts";

/** Exit code when codecell itself fails. */
export const errorExitCodes: Readonly<Record<CodecellErrorCode, number>> = {
  usage: 2,
  policy_invalid: 2,
  too_large: 2,
  policy_refused: 3,
  override_refused: 3,
  secret_unavailable: 4,
  runner_unavailable: 4,
  image_failed: 4,
  packages_failed: 4,
  cell_start_failed: 4,
  language_unavailable: 4,
  file_missing: 1,
  file_refused: 3,
  variable_missing: 1,
  variable_unserializable: 1,
  expression_failed: 1,
  aborted: 130,
  cell_lost: 70,
  session_closed: 70,
  session_busy: 75,
  session_unknown: 1,
  session_culled: 1,
  session_limit: 75,
  run_limit: 75,
  snapshot_damaged: 1,
  checkpoint_unknown: 1,
  nothing_to_undo: 1,
  not_supported: 4,
  run_gone: 1,
  output_gone: 1,
  audit_failed: 74,
  budget_exhausted: 3,
  model_unavailable: 4,
  model_failed: 75,
  replay_drift: 1,
  disk_failed: 74,
  unauthorized: 3,
  service_unavailable: 75,
  internal: 70,
};

/** Exit code by a run's status; `own`: the program's exit code, otherwise 1. */
const statusExitCodes: Readonly<Record<RunStatus, number | "own">> = {
  ok: 0,
  error: "own",
  crashed: "own",
  output_limit: 1,
  timeout: 124,
  out_of_memory: 137,
  interrupted: 130,
  cancelled: 130,
};

export function runExitCode({ status, exitCode }: Pick<RunResult, "status" | "exitCode">): number {
  const code = statusExitCodes[status];
  // `||`: a failed run never exits with 0, whatever the cell reports
  return code === "own" ? exitCode || 1 : code;
}

/** Exit code of a run whose output was printed. A program that reads it from a pipe must notice that a part is missing. */
export function printedExitCode(
  result: Pick<RunResult, "status" | "exitCode" | "truncated">,
  stdout: { readonly isTTY: boolean },
): number {
  return runExitCode(result) || (result.truncated && !stdout.isTTY ? 1 : 0);
}

/** 128 + the signal's number, as in a shell; `EIO` (output cannot be written) is a disk failure. */
export const signalExitCodes = { SIGHUP: 129, SIGINT: 130, SIGPIPE: 141, SIGTERM: 143, EIO: 74 } as const;
