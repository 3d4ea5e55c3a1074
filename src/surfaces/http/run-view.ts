import { freeBytes, type MemoryLease } from "../../service/body-memory.ts";
import type { Sandbox } from "../../service/sandbox.ts";
import { encodeRun, type WireRun } from "../../service/wire/runs/run.ts";
import type { RunResult } from "../../sessions/runs/run.ts";

/** Limit of displays in a response. The others have only their size; the events contain them. */
const displayBytes = 8 * 1024 * 1024;

export interface EndedViewOptions {
  readonly withReceipt?: boolean;
  /** where the result is counted until its client has it; undefined: nowhere */
  readonly memory: MemoryLease | undefined;
  /** aborted when the client disconnects */
  readonly signal: AbortSignal;
}

/** An ended run, with links to its files. Waits for memory while other clients of the same token read too slowly. */
export async function endedView(
  result: RunResult,
  runId: string,
  sessionId: string,
  sandbox: Sandbox,
  { withReceipt = false, memory, signal }: EndedViewOptions,
): Promise<WireRun> {
  const downloadUrl = result.artifacts.length === 0 ? undefined : await sandbox.linksOf(sessionId);
  const bytes = responseBytes(result);
  if (bytes > freeBytes) await memory?.holdWhenFree(bytes, signal);
  const { nextOffset } = sandbox.runs.status(runId);
  return encodeRun(result, { runId, sessionId, nextOffset }, { downloadUrl, displayBytes, withReceipt });
}

/** About the size of a result as JSON. */
function responseBytes({ stdout, stderr, displays }: RunResult): number {
  const all = displays.reduce((sum, { data }) => sum + data.byteLength, 0);
  return stdout.length + stderr.length + Math.ceil((Math.min(displayBytes, all) * 4) / 3);
}
