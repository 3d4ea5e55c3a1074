import type { RunResult } from "../../../sessions/runs/run.ts";
import type { RunStatus } from "../sessions/session-types.ts";
import { formatBytes } from "./text/format-bytes.ts";

/** Endings that the program's own output does not explain. */
const endings: Readonly<Record<RunStatus, string | undefined>> = {
  ok: undefined,
  error: undefined,
  timeout: "the run timed out",
  interrupted: "the run was interrupted",
  out_of_memory: "the run ran out of memory",
  output_limit: "the run was stopped because it exceeded its output limit",
  crashed: "the interpreter crashed",
  cancelled: "the run was cancelled",
};

/** Remarks on a result for people, in addition to its output: one sentence each. */
export function resultRemarks(
  result: RunResult,
  options: { hasNext: boolean; expectedNote?: string | undefined },
): string[] {
  const remarks: string[] = [];
  const ending = endings[result.status];
  if (ending !== undefined) remarks.push(ending + limitText(result));
  const isNew = (note: string) => note !== options.expectedNote && note.replace(/\.$/, "").toLowerCase() !== ending;
  remarks.push(...result.notes.filter(isNew));
  // The kernel's notes say more. This is for a cell that could not send any.
  if (options.hasNext && result.state !== "kept" && result.notes.length === 0) {
    remarks.push(
      result.state === "lost" ? "the session's variables are lost" : "the session was restored to an earlier state",
    );
  }
  if (result.truncated) remarks.push(truncationText(result));
  return remarks;
}

function truncationText({ stdoutBytes, stderrBytes, leftOutBytes }: RunResult): string {
  const leftOut = leftOutBytes.stdout + leftOutBytes.stderr;
  if (leftOut === 0) return "the value or a display was truncated; print it to get all of it";
  const sizes = `${formatBytes(stdoutBytes)} on stdout, ${formatBytes(stderrBytes)} on stderr`;
  const missing = `${formatBytes(leftOut)} in the middle were left out`;
  return `output was truncated: the program printed ${sizes}, and ${missing}; raise the limit with --output-limit`;
}

/** ` after 30 s` for a run that timed out, from the receipt; empty for every other status. */
function limitText({ status, receipt }: RunResult): string {
  const limit = status === "timeout" ? receipt.rules.find(({ rule }) => rule === "proc.timeout") : undefined;
  return limit === undefined ? "" : ` after ${limit.value.replace(/(?<=\d)(?=[a-z])/, " ")}`;
}
