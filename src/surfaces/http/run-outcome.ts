import { CodecellError } from "../../lib/errors.ts";
import type { RunHandle } from "../../sessions/run-registry.ts";
import type { Sandbox } from "../mcp/sandbox.ts";
import type { Reply } from "./route.ts";
import { endedView, runningView } from "./run-view.ts";

/** How a run ended, or with 202 how far it is when the time is up. */
export async function runOutcome(
  sandbox: Sandbox,
  runId: string,
  { waitMs, signal, runner }: { waitMs: number; signal: AbortSignal; runner: string },
): Promise<Reply> {
  const { sessionId } = sandbox.runs.status(runId);
  const outcome = await sandbox.runs.wait(runId, { timeoutMs: waitMs, signal });
  if (outcome.status !== "running") return { json: endedView(outcome, runId, sessionId, sandbox) };
  const headers = { location: `/v1/sessions/${sessionId}/runs/${runId}` };
  return { status: 202, json: runningView(outcome, sessionId, runner), headers };
}

/** The run, if it is one of this session. */
export function runOf({ runs }: Sandbox, sessionId: string, runId: string): RunHandle {
  const handle = runs.status(runId);
  if (handle.sessionId === sessionId) return handle;
  throw new CodecellError("run_gone", `no run is remembered as ${JSON.stringify(runId.slice(0, 64))}`);
}
