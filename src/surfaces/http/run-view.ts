import type { Sandbox } from "../../service/sandbox.ts";
import { encodeRun, type WireRun } from "../../service/wire/run.ts";
import type { RunResult } from "../../sessions/runs/run.ts";

/** Limit of displays in a response. The others have only their size; the events contain them. */
const displayBytes = 8 * 1024 * 1024;

/** An ended run, with links to its files. */
export async function endedView(
  result: RunResult,
  runId: string,
  sessionId: string,
  sandbox: Sandbox,
  { withReceipt = false }: { readonly withReceipt?: boolean } = {},
): Promise<WireRun> {
  const downloadUrl = result.artifacts.length === 0 ? undefined : await sandbox.linksOf(sessionId);
  const { nextOffset } = sandbox.runs.status(runId);
  return encodeRun(result, { runId, sessionId, nextOffset }, { downloadUrl, displayBytes, withReceipt });
}
