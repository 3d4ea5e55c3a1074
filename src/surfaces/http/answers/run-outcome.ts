import { CodecellError } from "../../../lib/errors.ts";
import type { LateStdin } from "../../../service/runs/late-stdin.ts";
import type { Sandbox } from "../../../service/sandbox.ts";
import type { Tenant } from "../../../service/tenants/tenant.ts";
import { encodeRunning, runSchema } from "../../../service/wire/runs/run.ts";
import type { Reply } from "../route.ts";
import { type EndedViewOptions, endedView } from "../run-view.ts";

/** The responses of every route that returns a run. */
export const runReplies = {
  200: { description: "the result", schema: runSchema },
  202: { description: "it is still running", schema: runSchema },
};

export interface FoundRun {
  readonly sandbox: Sandbox;
  readonly runId: string;
  readonly sessionId: string;
  readonly runner: string;
}

/** The run, if it belongs to this session. */
export async function findRun(
  tenant: Tenant,
  { session, run }: { readonly session: string; readonly run: string },
): Promise<FoundRun> {
  await tenant.sessions.info(session);
  const sandbox = await tenant.sandbox();
  const { runId, sessionId } = sandbox.runs.status(run);
  if (sessionId === session) return { sandbox, runId, sessionId, runner: tenant.sessions.runner };
  throw new CodecellError("run_gone", `there is no run with id ${JSON.stringify(run.slice(0, 64))}`);
}

/** The standard input of a run that was started with `stdin_stream`. */
export function stdinOf(sandbox: Sandbox, runId: string): LateStdin {
  const stdin = sandbox.runs.lateStdin(runId);
  if (stdin) return stdin;
  throw new CodecellError("usage", "this run takes no standard input", { hint: "start it with `stdin_stream: true`" });
}

/** The result of a run, or 202 with its output so far if it is still running after `waitMs`. */
export async function runOutcome(
  { sandbox, runId, sessionId, runner }: FoundRun,
  { waitMs, ...options }: EndedViewOptions & { readonly waitMs: number },
): Promise<Reply> {
  const outcome = await sandbox.runs.wait(runId, { timeoutMs: waitMs, signal: options.signal });
  if (outcome.status !== "running") return { json: await endedView(outcome, runId, sessionId, sandbox, options) };
  const headers = { location: `/v1/sessions/${sessionId}/runs/${runId}` };
  return { status: 202, json: encodeRunning(outcome, { sessionId, runner }), headers };
}
