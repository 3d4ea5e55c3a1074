import { CodecellError } from "../../../lib/errors.ts";
import type { Sandbox } from "../../../service/sandbox.ts";
import type { Tenant } from "../../../service/tenants/tenant.ts";
import { encodeRunning, runSchema } from "../../../service/wire/run.ts";
import type { Reply } from "../route.ts";
import { endedView } from "../run-view.ts";

/** The answers of every route that tells how a run is doing. */
export const runReplies = {
  200: { description: "how it ended", schema: runSchema },
  202: { description: "it is still running", schema: runSchema },
};

export interface FoundRun {
  readonly sandbox: Sandbox;
  readonly runId: string;
  readonly sessionId: string;
  readonly runner: string;
}

/** The run, if it is one of this session. */
export async function findRun(
  tenant: Tenant,
  { session, run }: { readonly session: string; readonly run: string },
): Promise<FoundRun> {
  await tenant.sessions.info(session);
  const sandbox = await tenant.sandbox();
  const { runId, sessionId } = sandbox.runs.status(run);
  if (sessionId === session) return { sandbox, runId, sessionId, runner: tenant.sessions.runner };
  throw new CodecellError("run_gone", `no run is remembered as ${JSON.stringify(run.slice(0, 64))}`);
}

/** How a run ended, or with 202 how far it is when the time is up. */
export async function runOutcome(
  { sandbox, runId, sessionId, runner }: FoundRun,
  { waitMs, signal }: { waitMs: number; signal: AbortSignal },
): Promise<Reply> {
  const outcome = await sandbox.runs.wait(runId, { timeoutMs: waitMs, signal });
  if (outcome.status !== "running") return { json: await endedView(outcome, runId, sessionId, sandbox) };
  const headers = { location: `/v1/sessions/${sessionId}/runs/${runId}` };
  return { status: 202, json: encodeRunning(outcome, { sessionId, runner }), headers };
}
