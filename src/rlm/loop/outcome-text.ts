import { outputText, refusedText } from "../prompt/messages.ts";
import { shownText } from "../prompt/shown-text.ts";
import type { AgentState } from "./agent-state.ts";
import type { CellRun } from "./cell.ts";

/** What the model sees of a block of code that ran. */
export function outcomeTexts({ limits, refused, subCalls }: AgentState, result: CellRun): string[] {
  const isOk = result.status === "ok";
  const texts = [outputText(shownText(result.output, limits.maxOutputChars, result.outputChars))];
  if (!isOk && result.status !== "error") texts.push(`[Error] ${statusText(result, limits.execTimeoutMs)}`);
  if (result.state === "recovered")
    texts.push("The session crashed. Your variables are back as they were before this block.");
  // The traceback says it already, unless the code caught the error.
  if (refused && isOk) texts.push(`[Error] ${refusedText(refused)}`);
  if (subCalls.failed > 0) texts.push(`${subCalls.failed} of the ${subCalls.total} sub-calls of this block failed.`);
  return texts;
}

function statusText({ status }: CellRun, timeoutMs: number): string {
  if (status === "timeout") return `The code timed out after ${timeoutMs / 1000} s. Work on smaller parts.`;
  if (status === "out_of_memory") return "The code used more memory than allowed. Work on smaller parts.";
  if (status === "output_limit") return "The code printed too much and was stopped. Print less.";
  return `The code ended with status ${status}.`;
}
