import { CodecellError, messageOf } from "../../lib/errors.ts";
import type { LmMessage } from "../../llm/client.ts";
import { jsonRequestText, outputsInReply } from "../prompt/json-answer.ts";
import { valueErrorsText } from "../signature/check-outputs.ts";
import type { AgentState } from "./agent-state.ts";

/** The first try, and one more with what was wrong. */
const tries = 2;

/** Asks the root model to read the outputs off the conversation, from what the budget keeps for this. */
export async function extractOutputs(
  agent: AgentState,
  system: string,
  conversation: readonly LmMessage[],
  signal: AbortSignal,
): Promise<{ outputs: Readonly<Record<string, unknown>> } | { outputs?: undefined; message: string }> {
  const { tree, limits, budget, id: run, turn, signature } = agent;
  const [last] = conversation.slice(-1);
  const ask = `No more code can run. Give the outputs as far as the conversation above supports them, and invent nothing.\n\n${jsonRequestText(signature)}`;
  const messages: LmMessage[] = [...conversation.slice(0, -1), { role: "user", text: `${last?.text ?? ""}\n\n${ask}` }];
  let message = "";
  try {
    for (let count = 0; count < tries; count++) {
      budget.takeTurn(true);
      const request = {
        model: tree.options.rootModel,
        system,
        messages: [...messages],
        maxTokens: limits.maxReplyTokens,
        cachePrefix: true,
      };
      const place = { run, turn, purpose: "extract", budget: budget.amounts, isFinal: true, signal } as const;
      const { text } = await tree.ask(request, place);
      const checked = outputsInReply(signature, text);
      if (checked.ok) return { outputs: checked.outputs };
      message = valueErrorsText(checked.errors);
      messages.push(
        { role: "assistant", text: text || "(no reply)" },
        { role: "user", text: `The JSON does not fit:\n${message}` },
      );
    }
    return { message: message.replace(/^- /, "") };
  } catch (error) {
    if (!(error instanceof CodecellError) || error.code === "aborted") throw error;
    return { message: messageOf(error) };
  }
}
