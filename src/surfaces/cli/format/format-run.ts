import type { DownloadUrl } from "../../../service/sandbox.ts";
import { egressJson } from "../../../service/wire/egress-json.ts";
import type { RunResult } from "../../../sessions/runs/run.ts";
import type { RunStatus } from "../sessions/session-types.ts";
import { runExitCode } from "../shell/exit-codes.ts";
import { formatBytes } from "./format-bytes.ts";

/** A result as `run --json` prints it; docs/cli.md describes every field. */
export function runJson(result: RunResult, downloadUrl?: DownloadUrl): object {
  return {
    status: result.status,
    exit_code: runExitCode(result),
    stdout: result.stdout,
    stderr: result.stderr,
    result: result.value ?? null,
    error: result.error ?? null,
    truncated: result.truncated,
    stdout_bytes: result.stdoutBytes,
    stderr_bytes: result.stderrBytes,
    displays: result.displays.map(({ display, mime, data }) => ({ display, mime, bytes: data.byteLength })),
    state: result.state,
    notes: result.notes,
    artifacts: result.artifacts.map(({ name, size, mimeType, sha256 }) => ({
      ...{ name, size, mime: mimeType, sha256 },
      ...(downloadUrl ? { download_url: downloadUrl({ name, sha256 }) } : {}),
    })),
    left_out: result.leftOut,
    ...(result.egress ? { egress: egressJson(result.egress) } : {}),
    duration_ms: Math.round(result.durationMs),
    runner: result.runner,
    receipt: {
      runner: result.receipt.runner,
      runner_version: result.receipt.runnerVersion,
      policy_hash: result.receipt.policyHash,
      rules: result.receipt.rules,
      notes: result.receipt.notes,
      ...(result.receipt.network ? { network: result.receipt.network } : {}),
    },
  };
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
