import { collapseRepeats } from "../../service/output/collapse-repeats.ts";
import { cutMiddle } from "../../service/output/cut-middle.ts";
import { readableText } from "../../service/output/readable-text.ts";
import { runRemedies } from "../../service/replies/run-remedies.ts";
import { policyOf, toldError } from "../../service/tools/code-tool.ts";
import type { CodeSession } from "../../sessions/code-session.ts";
import type { RunResult } from "../../sessions/runs/run.ts";

/** How a shell command ended. */
export interface CommandResult {
  readonly status: RunResult["status"];
  readonly stdout: string;
  readonly stderr: string;
  /** both, in the order in which they were written */
  readonly output: string;
  /** null: it was stopped, so it has none */
  readonly exitCode: number | null;
  /** why it was stopped or failed, and what to do; empty if there is nothing to say */
  readonly note: string;
  readonly isTruncated: boolean;
  readonly durationMs: number;
}

/** Runs a shell command in a session, after what was called before. Throws a `CodecellError` that tells a model what to do. */
export async function runCommand(session: CodeSession, command: string, timeoutMs?: number): Promise<CommandResult> {
  const timeout = timeoutMs === undefined || timeoutMs <= 0 ? {} : { timeout: timeoutMs };
  try {
    const run = session.run(command, { language: "bash", whenBusy: "queue", ...timeout });
    let output = "";
    for await (const event of run) if (event.type !== "display") output += event.text;
    return commandResult(session, await run, output);
  } catch (error) {
    throw toldError(error);
  }
}

/** Keeps the beginning and the end of a text, with a line between that says how much is missing. */
export function clipText(text: string, characters: number): string {
  const marker = (leftOut: number) => `… ${leftOut.toLocaleString("en-US")} characters left out …`;
  return cutMiddle(collapseRepeats(readableText(text)), { room: characters, headShare: 0.5, marker }).text;
}

function commandResult(session: CodeSession, result: RunResult, inOrder: string): CommandResult {
  const { status, stdout, stderr, exitCode, truncated, durationMs } = result;
  const isExit = status === "ok" || status === "error";
  const remedies = runRemedies(result, { policy: policyOf(session), isOnlyTool: true });
  const note = [...(isExit ? [] : [`status: ${status}`]), ...remedies, ...result.notes].join("; ");
  return {
    // a stream that was truncated has a line that says so in the result alone
    output: truncated ? `${stdout}${stderr}` : inOrder,
    exitCode: isExit ? (exitCode ?? (status === "ok" ? 0 : null)) : null,
    ...{ status, stdout, stderr, note, isTruncated: truncated, durationMs },
  };
}
