import type { RunResult } from "../../sessions/runs/run.ts";
import { missingModule, needsSurroundings, type RunSurroundings, runRemedies } from "../replies/run-remedies.ts";
import { endedReply, runningReply } from "../replies/run-reply.ts";
import type { Sandbox } from "../sandbox.ts";
import type { ToolContext, ToolReply } from "../tools/tool.ts";
import type { ToolRun } from "../wire/runs/tool-run.ts";
import { followProgress } from "./follow-progress.ts";
import { installedPackages } from "./installed-packages.ts";

/** How long to wait for a cancelled run to end. */
const cancelLimitMs = 5_000;

export interface AwaitRunOptions {
  readonly waitMs: number;
  /** whether cancelling the call stops the code, or only the waiting */
  readonly cancelStopsRun: boolean;
}

/** Waits for a run and returns its result, or its output so far when the time is up. */
export async function awaitRun(
  sandbox: Sandbox,
  runId: string,
  context: ToolContext,
  { waitMs, cancelStopsRun }: AwaitRunOptions,
): Promise<ToolReply<ToolRun>> {
  const { runs, seen } = sandbox;
  const { signal } = context;
  const { sessionId } = runs.status(runId);
  const runner = sandbox.opened?.runner ?? "unknown";
  using _progress = followProgress(runs, runId, context);
  const outcome = await runs.wait(runId, { timeoutMs: waitMs, signal }).catch((error: unknown) => {
    if (!signal.aborted || !cancelStopsRun) throw error;
    runs.cancel(runId);
    return runs.wait(runId, { timeoutMs: cancelLimitMs });
  });
  if (outcome.status === "running") {
    const printed = runs.printed(runId);
    const news = seen.news(runId, printed);
    seen.remember(runId, printed);
    return runningReply(outcome, { runId, sessionId, runner, notes: [] }, sandbox, news);
  }
  const remedies = needsSurroundings(outcome)
    ? runRemedies(outcome, await surroundings(sandbox, sessionId, outcome))
    : [];
  const identity = { runId, sessionId, runner, notes: remedies };
  if (outcome.status === "ok" && sandbox.onPython) await learnPython(sandbox, sessionId);
  const news = seen.news(runId, outcome);
  seen.forget(runId);
  if (outcome.artifacts.length === 0) return endedReply(outcome, identity, sandbox, { news });
  sandbox.artifactsChanged();
  return endedReply(outcome, identity, sandbox, { news, downloadUrl: await sandbox.linksOf(sessionId) });
}

/** Asks before the answer goes out: the next call would have to wait for it. */
async function learnPython(sandbox: Sandbox, sessionId: string): Promise<void> {
  const { onPython } = sandbox;
  sandbox.onPython = undefined;
  const session = await sandbox.openSession(sessionId);
  const python = session && (await installedPackages(session));
  if (python) onPython?.(python);
}

async function surroundings(sandbox: Sandbox, sessionId: string, result: RunResult): Promise<RunSurroundings> {
  const session = await sandbox.openSession(sessionId);
  const used = new Set(sandbox.runs.list().map((run) => run.sessionId));
  const isMemory = result.status === "out_of_memory";
  const usage = isMemory ? await session?.usage().catch(() => undefined) : undefined;
  const isModule = session !== undefined && missingModule(result) !== undefined;
  return {
    policy: session?.policy ?? sandbox.opened?.policy,
    peakMemoryBytes: usage?.peakMemoryBytes,
    otherSessions: [...used].filter((id) => id !== sessionId),
    python: isModule ? await installedPackages(session) : undefined,
    isOnlyTool: sandbox.hasOnlyTool,
  };
}
