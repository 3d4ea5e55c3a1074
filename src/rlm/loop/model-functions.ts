import { CodecellError, messageOf } from "../../lib/errors.ts";
import type { LmRequest } from "../../llm/client.ts";
import type { AgentState } from "./agent-state.ts";
import type { CellCall, CellFunction, CellParameters, ModelAnswer } from "./cell.ts";

const options: CellParameters = {
  max_tokens: { schema: { type: "integer", minimum: 1, description: "most tokens of the answer" }, isOptional: true },
  model: { schema: { type: "string", description: "another model, if the host allows it" }, isOptional: true },
};

/** `llm_query` and `llm_query_batched`. */
export function modelFunctions(agent: AgentState): Readonly<Record<string, CellFunction>> {
  return {
    llm_query: {
      kind: "model",
      timeoutMs: agent.tree.leftMs,
      parameters: { prompt: { schema: { type: "string" } }, ...options },
      description: "Asks a model one question. Returns its answer.",
      call: async (input, call) => {
        const request = requestOf(agent, String(input.prompt), input);
        agent.budget.takeCalls(1);
        return { text: await ask(agent, request, call) };
      },
    },
    llm_query_batched: {
      kind: "model",
      timeoutMs: agent.tree.leftMs,
      parameters: { prompts: { schema: { type: "array", items: { type: "string" } } }, ...options },
      description:
        "Asks a model many questions at once. Returns the answers in order; a call that failed is text whose attribute `ok` is False.",
      call: async (input, call) => {
        const prompts = input.prompts as readonly string[];
        // Everything is checked before anything is sent.
        const requests = prompts.map((prompt, index) => requestOf(agent, prompt, input, `prompts[${index}]`));
        if (requests.length === 0) return [];
        agent.budget.takeCalls(requests.length);
        return await Promise.all(requests.map((request) => marked(agent, request, call)));
      },
    },
  };
}

function requestOf(
  agent: AgentState,
  prompt: string,
  input: Readonly<Record<string, unknown>>,
  name = "prompt",
): LmRequest {
  const { maxPromptChars, maxAnswerTokens } = agent.limits;
  // A RangeError is a ValueError in the cell.
  if (prompt.trim() === "") throw new RangeError(`${name} is empty`);
  if (prompt.length > maxPromptChars) {
    throw new RangeError(
      `${name} has ${prompt.length} characters; the limit is ${maxPromptChars}. Split the text into parts of at most ${Math.floor(maxPromptChars * 0.9)} characters.`,
    );
  }
  const { model = agent.tree.options.subModel, max_tokens: maxTokens = maxAnswerTokens } = input as {
    model?: string;
    max_tokens?: number;
  };
  return { model, messages: [{ role: "user", text: prompt }], maxTokens: Math.min(maxTokens, maxAnswerTokens) };
}

/** A failure of one call does not lose the others. */
async function marked(agent: AgentState, request: LmRequest, call: CellCall): Promise<ModelAnswer> {
  try {
    return { text: await ask(agent, request, call) };
  } catch (error) {
    agent.tree.signal.throwIfAborted();
    return { error: messageOf(error) };
  }
}

async function ask(agent: AgentState, request: LmRequest, { signal }: CellCall): Promise<string> {
  const { id: run, turn, tree, budget, subCalls } = agent;
  subCalls.total++;
  try {
    const place = { run, turn, purpose: "sub", budget: budget.subAmounts, isFinal: false, signal } as const;
    const { text, stop } = await tree.ask(request, place);
    if (stop === "refusal") throw new Error("the model refused to answer");
    if (stop === "max_tokens") {
      throw new Error(`the answer was cut off at ${request.maxTokens} tokens: ask for a shorter one`);
    }
    return text;
  } catch (error) {
    subCalls.failed++;
    throw withHint(error);
  }
}

/** Code in a cell gets the message alone, so it has to say what to do. */
function withHint(error: unknown): unknown {
  if (!(error instanceof CodecellError) || error.hint === undefined) return error;
  const { code, details } = error;
  return new CodecellError(code, `${error.message}: ${error.hint}`, { details, cause: error });
}
