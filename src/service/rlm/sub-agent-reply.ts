import { CodecellError } from "../../lib/errors.ts";
import type { RlmResult } from "../../rlm/loop/run-rlm.ts";
import type { Sandbox } from "../sandbox.ts";
import { resultVariable, type SubAgentState } from "./sub-agents.ts";

/** How much of the outputs a model gets to read. The whole is in the session. */
const shownChars = 6_000;

/** The state of a sub-agent, for programs. */
export function subAgentFacts({ runId, sessionId, turn, turns, calls, usd, result, trajectory }: SubAgentState) {
  const cost = result?.usage.total;
  return {
    run_id: runId,
    session_id: sessionId,
    status: result === undefined ? ("running" as const) : ("finished" as const),
    finish: result?.finish ?? null,
    outputs: result?.outputs ?? null,
    message: result?.message ?? null,
    turn: result?.iterations ?? turn,
    turns,
    model_calls: cost?.calls ?? calls,
    usd: cost ? cost.usd : usd,
    trajectory: trajectory ?? null,
  };
}

/** The same in few words, with the next step. */
export function subAgentText(sandbox: Sandbox, state: SubAgentState): string {
  const { runId, sessionId, turn, turns, calls, usd, result } = state;
  if (result === undefined) {
    const progress =
      turn === 0 ? "starting" : `turn ${turn} of ${turns}, ${plural(calls, "model call")}, ${money(usd)}`;
    return `running: ${progress}. next: rlm_run(run_id="${runId}")`;
  }
  const { total } = result.usage;
  const spent = `${plural(result.iterations, "turn")}, ${plural(total.calls, "model call")}, ${money(total.usd)}`;
  if (result.outputs === null) {
    const canExplain = result.iterations > 0 && result.finish !== "cancelled";
    const next = canExplain ? `\nnext: rlm_run(run_id="${runId}", action="trajectory") shows what it did` : "";
    return `${result.finish}: ${withHint(result)}; ${spent}. ${remedy(result)}${next}`;
  }
  const text = JSON.stringify(result.outputs);
  const shown = text.length <= shownChars ? text : `${text.slice(0, shownChars)} … (${text.length} characters in all)`;
  const how =
    result.finish === "submitted" ? "" : `The ${result.limit} limit was reached; these outputs were extracted.\n`;
  return `${how}${shown}\n${spent}; stored as ${resultVariable}${sandbox.mention(sessionId)}; run ${runId}`;
}

function withHint({ message = "no reason was given", error }: RlmResult): string {
  return error instanceof CodecellError && error.hint !== undefined ? `${message} (${error.hint})` : message;
}

function remedy({ finish, limit }: RlmResult): string {
  if (finish === "cancelled") return "Nothing was stored.";
  if (finish === "error") return "Nothing was stored; fix the cause and start again.";
  const policy: Partial<Record<string, string>> = {
    calls: "llm.calls",
    tokens: "llm.tokens",
    usd: "llm.usd",
    time: "llm.timeout",
  };
  const rule = limit === undefined ? undefined : policy[limit];
  if (rule !== undefined) return `Ask for less, or let the operator raise ${rule} in the policy.`;
  return "Give it a smaller task, clearer instructions or fewer inputs.";
}

function plural(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}

function money(usd: number): string {
  return `$${usd.toFixed(usd < 0.1 ? 4 : 2)}`;
}
