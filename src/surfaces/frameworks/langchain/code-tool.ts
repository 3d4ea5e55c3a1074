import type { CodecellError } from "../../../lib/errors.ts";
import { type CodeInput, type CodeOutput, codeToolOf } from "../../../service/tools/code-tool.ts";
import type { CodeSession } from "../../../sessions/code-session.ts";
import { codeInputJson } from "../code-input.ts";
import { loadPeer } from "../load-peer.ts";
import type { NamedToolOptions } from "../named-tool-options.ts";

/** A tool of LangChain, version 1: fits its type `StructuredToolInterface`. It is what `tool()` of @langchain/core makes. */
export interface LangChainCodeTool {
  name: string;
  description: string;
  returnDirect: boolean;
  lc_namespace: string[];
  lc_serializable: boolean;
  readonly lc_id: string[];
  // biome-ignore-start lint/suspicious/noExplicitAny: types of LangChain, which this package does not have
  schema: any;
  invoke(input: any, config?: any): Promise<any>;
  call(input: any, config?: any): Promise<any>;
  batch(inputs: any[], options?: any, batchOptions?: any): Promise<any[]>;
  stream(input: any, options?: any): Promise<any>;
  transform(inputs: any, options: any): AsyncGenerator<any>;
  // biome-ignore-end lint/suspicious/noExplicitAny: as above
  getName(suffix?: string): string;
}

interface ToolConfig {
  readonly signal?: AbortSignal;
  readonly toolCall?: { readonly id?: string };
}

type Content = string | ({ type: "text"; text: string } | { type: "image"; mimeType: string; data: string })[];
type MakeTool = (run: (input: CodeInput, config: ToolConfig) => Promise<unknown>, fields: object) => LangChainCodeTool;
type MakeMessage = new (fields: object) => unknown;

const install = "@langchain/core@1";

/**
 * A tool that runs a model's code in a session, for `createAgent`, `bindTools` and graphs. Parallel calls take turns, images that a run
 * displays reach the model, and the signal of a call interrupts the code. The artifact of its message is `{ status }` of the run.
 */
export async function codeTool(session: CodeSession, options: NamedToolOptions = {}): Promise<LangChainCodeTool> {
  const { tool: makeTool } = await loadPeer({ specifier: "@langchain/core/tools", install, names: ["tool"] });
  const messages = await loadPeer({ specifier: "@langchain/core/messages", install, names: ["ToolMessage"] });
  const ToolMessage = messages.ToolMessage as MakeMessage;
  const { name = "run_python" } = options;
  const tool = codeToolOf(session, options);
  const run = async (input: CodeInput, { signal, toolCall }: ToolConfig) => {
    try {
      const output = await tool.call(input, signal);
      return [contentOf(output), { status: output.status }];
    } catch (error) {
      const id = toolCall?.id;
      // A call of a model gets a message: an exception would end the agent. A call of a program gets the exception.
      if (id === undefined || signal?.aborted) throw error;
      const { message, code } = error as CodecellError;
      const told = { content: message, artifact: { status: "failed", code }, status: "error", tool_call_id: id, name };
      return [new ToolMessage(told), undefined];
    }
  };
  return (makeTool as MakeTool)(run, {
    ...{ name, description: tool.description, schema: codeInputJson, responseFormat: "content_and_artifact" },
  });
}

function contentOf({ text, images }: CodeOutput): Content {
  if (images.length === 0) return text;
  return [{ type: "text", text }, ...images.map(({ data, mimeType }) => ({ type: "image" as const, mimeType, data }))];
}
