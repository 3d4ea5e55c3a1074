import { type CodeInput, type CodeOutput, codeToolOf } from "../../../service/tools/code-tool.ts";
import type { CodeSession } from "../../../sessions/code-session.ts";
import { strictCodeInputJson } from "../code-input.ts";
import { loadPeer } from "../load-peer.ts";
import type { NamedToolOptions } from "../named-tool-options.ts";
import { agentsPackage } from "./agents-package.ts";

/** A function tool of the OpenAI Agents SDK: fits its type `FunctionTool`. It is what `tool()` of @openai/agents makes. */
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

type MakeTool = (options: {
  name: string;
  description: string;
  parameters: object;
  strict: boolean;
  errorFunction: null;
  execute: (input: unknown, context: unknown, details?: { signal?: AbortSignal }) => Promise<string | OpenAiContent[]>;
}) => OpenAiCodeTool;

/**
 * A tool that runs a model's code in a session. Parallel calls take turns, images that a run displays reach the model, and aborting the
 * run of the agent interrupts the code. If codecell itself fails, the result says so: an exception would end the run of the agent.
 */
export async function codeTool(session: CodeSession, options: NamedToolOptions = {}): Promise<OpenAiCodeTool> {
  // An object of our own would not do: the SDK pauses for an approval when arguments are not valid JSON, unless `tool()` made the tool.
  const { tool: makeTool } = await loadPeer(agentsPackage);
  const tool = codeToolOf(session, options);
  return (makeTool as MakeTool)({
    ...{ name: options.name ?? "run_python", description: tool.description },
    ...{ parameters: strictCodeInputJson, strict: true, errorFunction: null },
    execute: async (input, _context, { signal } = {}) => {
      try {
        return content(await tool.call(input as CodeInput, signal));
      } catch (error) {
        if (signal?.aborted) throw error;
        return (error as Error).message;
      }
    },
  });
}

function content({ text, images }: CodeOutput): string | OpenAiContent[] {
  if (images.length === 0) return text;
  const shown = images.map(({ data, mimeType }) => ({ type: "image" as const, image: { data, mediaType: mimeType } }));
  return [{ type: "text", text }, ...shown];
}
