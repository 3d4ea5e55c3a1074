import type { DownloadUrl } from "../../../service/wire/artifact.ts";
import { encodeRun, type WireRun } from "../../../service/wire/run.ts";
import type { RunResult } from "../../../sessions/runs/run.ts";

/** A result as `run --json` prints it. */
export function runJson(result: RunResult, sessionId: string | null, downloadUrl?: DownloadUrl): WireRun {
  return encodeRun(result, { runId: null, sessionId, nextOffset: null }, { downloadUrl, withReceipt: true });
}
