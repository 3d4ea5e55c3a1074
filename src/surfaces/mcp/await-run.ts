import type { ServerContext } from "@modelcontextprotocol/server";
import type { ToolRun } from "../../service/wire/tool-run.ts";
import { followProgress } from "./follow-progress.ts";
import { endedReply, runningReply } from "./run-reply.ts";
import type { Sandbox } from "./sandbox.ts";
import type { ToolReply } from "./tool.ts";

/** How long a cancelled run has to end before the call is answered without it. */
const cancelLimitMs = 5_000;

export interface AwaitRunOptions {
  readonly waitMs: number;
  /** whether the client's cancelling of this call stops the code, or only the waiting */
  readonly cancelStopsRun: boolean;
  readonly notes?: readonly string[];
}

/** Waits for a run as long as the client may, and answers with its end or with how far it is. */
export async function awaitRun(
  sandbox: Sandbox,
  runId: string,
  context: ServerContext,
  { waitMs, cancelStopsRun, notes = [] }: AwaitRunOptions,
): Promise<ToolReply<ToolRun>> {
  const { runs } = sandbox;
  const { signal } = context.mcpReq;
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
