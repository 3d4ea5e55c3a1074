import type { DownloadUrl } from "../../../service/wire/artifact.ts";
import { encodeRun, type WireRun } from "../../../service/wire/run.ts";
import type { RunResult } from "../../../sessions/runs/run.ts";
import type { RunStatus } from "../sessions/session-types.ts";
import { formatBytes } from "./format-bytes.ts";

/** A result as `run --json` prints it. */
export function runJson(result: RunResult, sessionId: string | null, downloadUrl?: DownloadUrl): WireRun {
  return encodeRun(result, { runId: null, sessionId, nextOffset: null }, { downloadUrl, withReceipt: true });
}

/** Endings that the program's own output does not explain. */
const endings: Readonly<Record<RunStatus, string | undefined>> = {
  ok: undefined,
  error: undefined,
  timeout: "the run reached its time limit",
  interrupted: "the run was interrupted",
  out_of_memory: "the run needed more memory than it may use",
  output_limit: "the run printed far more than it may and was stopped",
  crashed: "the interpreter crashed",
  cancelled: "the run was ended",
};

/** What a person is told about a result besides its output, one sentence each. */
export function resultRemarks(
  result: RunResult,
  options: { hasNext: boolean; expectedNote?: string | undefined },
): string[] {
  const remarks: string[] = [];
  const ending = endings[result.status];
  if (ending !== undefined) remarks.push(ending);
  remarks.push(...result.notes.filter((note) => note !== options.expectedNote));
  // the kernel's own notes say more; this is for a cell that could not write any
  if (options.hasNext && result.state !== "kept" && result.notes.length === 0) {
    remarks.push(
      result.state === "lost" ? "the session's variables are lost" : "the session went back to an earlier state",
    );
  }
  if (result.truncated) {
    const sizes = `${formatBytes(result.stdoutBytes)} on stdout, ${formatBytes(result.stderrBytes)} on stderr`;
    remarks.push(`output was cut: the program printed ${sizes}; proc.output in the policy is the limit`);
  }
  return remarks;
}
