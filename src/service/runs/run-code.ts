import { unlessAborted } from "../../lib/waiting/unless-aborted.ts";
import { defaultLanguage, type Language } from "../../policy/languages.ts";
import type { Session } from "../../sessions/session.ts";
import type { Sandbox } from "../sandbox.ts";
import type { ToolContext, ToolReply } from "../tools/tool.ts";
import type { ToolRun } from "../wire/runs/tool-run.ts";
import { awaitRun } from "./await-run.ts";
import { startRun } from "./start-run.ts";

export interface RunCodeRequest {
  readonly code: string;
  readonly language?: Language;
  readonly timeoutSeconds?: number | undefined;
  readonly waitSeconds: number;
}

/** Runs code in a session and waits for it; cancelling the call stops the code. */
export async function runCode(
  sandbox: Sandbox,
  session: Session,
  request: RunCodeRequest,
  context: ToolContext,
): Promise<ToolReply<ToolRun>> {
  const { code, language = defaultLanguage, timeoutSeconds } = request;
  const waitMs = request.waitSeconds * 1000;
  const started = performance.now();
  const leftMs = () => Math.max(0, waitMs - (performance.now() - started));
  await unlessAborted(sandbox.prepareRun(session), context.signal, "the call was cancelled before its code ran");
  const { runId } = await startRun(sandbox.runs, session, code, {
    ...{ language, turnMs: leftMs(), signal: context.signal },
    ...(timeoutSeconds === undefined ? {} : { timeout: timeoutSeconds * 1000 }),
  });
  return awaitRun(sandbox, runId, context, { waitMs: leftMs(), cancelStopsRun: true });
}
