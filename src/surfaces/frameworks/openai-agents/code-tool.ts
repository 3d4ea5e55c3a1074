import { CodecellError } from "../../../lib/errors.ts";
import { type CodeInput, type CodeOutput, codeToolOf, toldError } from "../../../service/tools/code-tool.ts";
import type { CodeSession } from "../../../sessions/code-session.ts";
import { strictCodeInputJson } from "../code-input.ts";
import type { NamedToolOptions } from "../named-tool-options.ts";

/** A function tool of the OpenAI Agents SDK: fits its type `FunctionTool` without the package. */
export interface OpenAiCodeTool {
  type: "function";
  name: string;
  description: string;
  parameters: {
    type: "object";
    properties: Record<string, never>;
    required: string[];
    additionalProperties: boolean;
  };
  strict: boolean;
  invoke: (context: unknown, input: string, details?: { signal?: AbortSignal }) => Promise<string | OpenAiContent[]>;
  needsApproval: () => Promise<boolean>;
  isEnabled: () => Promise<boolean>;
}

/** A part of a result, as the SDK sends it to a model. */
export type OpenAiContent =
  | { type: "text"; text: string }
  | { type: "image"; image: { data: string; mediaType: string } };

/**
 * A tool that runs a model's code in a session. Parallel calls take turns, images that a run displays reach the model, and aborting the
 * run of the agent interrupts the code. If codecell itself fails, the result says so: an exception would end the run of the agent.
 */
export function codeTool(session: CodeSession, options: NamedToolOptions = {}): OpenAiCodeTool {
  const tool = codeToolOf(session, options);
  return {
    type: "function",
    name: options.name ?? "run_python",
    description: tool.description,
    parameters: strictCodeInputJson as unknown as OpenAiCodeTool["parameters"],
    strict: true,
    invoke: async (_context, input, { signal } = {}) => {
      try {
        return content(await tool.call(parsedInput(input), signal));
      } catch (error) {
        if (signal?.aborted) throw error;
        return error instanceof CodecellError ? error.message : toldError(error).message;
      }
    },
    needsApproval: async () => false,
    isEnabled: async () => true,
  };
}

function parsedInput(input: string): CodeInput {
  try {
    return JSON.parse(input);
  } catch (cause) {
    throw toldError(new CodecellError("usage", "the arguments are not valid JSON", { cause }));
  }
}

function content({ text, images }: CodeOutput): string | OpenAiContent[] {
  if (images.length === 0) return text;
  const shown = images.map(({ data, mimeType }) => ({ type: "image" as const, image: { data, mediaType: mimeType } }));
  return [{ type: "text", text }, ...shown];
}
