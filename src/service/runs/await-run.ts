import { endedReply, runningReply } from "../replies/run-reply.ts";
import type { Sandbox } from "../sandbox.ts";
import type { ToolContext, ToolReply } from "../tools/tool.ts";
import type { ToolRun } from "../wire/tool-run.ts";
import { followProgress } from "./follow-progress.ts";

/** How long to wait for a cancelled run to end. */
const cancelLimitMs = 5_000;

export interface AwaitRunOptions {
  readonly waitMs: number;
  /** whether cancelling the call stops the code, or only the waiting */
  readonly cancelStopsRun: boolean;
  readonly notes?: readonly string[];
}

/** Waits for a run and returns its result, or its output so far when the time is up. */
export async function awaitRun(
  sandbox: Sandbox,
  runId: string,
  context: ToolContext,
  { waitMs, cancelStopsRun, notes = [] }: AwaitRunOptions,
): Promise<ToolReply<ToolRun>> {
  const { runs } = sandbox;
  const { signal } = context;
  const { sessionId } = runs.status(runId);
  const runner = sandbox.opened?.runner ?? "unknown";
  using _progress = followProgress(runs, runId, context);
  const outcome = await runs.wait(runId, { timeoutMs: waitMs, signal }).catch((error: unknown) => {
    if (!signal.aborted || !cancelStopsRun) throw error;
    runs.cancel(runId);
    return runs.wait(runId, { timeoutMs: cancelLimitMs });
  });
  const identity = { runId, sessionId, runner, notes };
  if (outcome.status === "running") return runningReply(outcome, identity);
  if (outcome.artifacts.length === 0) return endedReply(outcome, identity, sandbox);
  sandbox.artifactsChanged();
  return endedReply(outcome, identity, sandbox, await sandbox.linksOf(sessionId));
}
