import { type CodeInput, type CodeOutput, type CodeToolOptions, codeToolOf } from "../../../service/tools/code-tool.ts";
import type { CodeSession } from "../../../sessions/code-session.ts";
import { type StandardCodeInput, standardCodeInput } from "../code-input.ts";

/** What the tool takes and answers. */
export type { CodeInput, CodeOutput, CodeToolOptions } from "../../../service/tools/code-tool.ts";
/** What the tool needs of a session: the library's and the client's both have it. */
export type { CodeRun, CodeSession, CodeSessionFiles } from "../../../sessions/code-session.ts";
/** The schema of the input. */
export type { StandardCodeInput } from "../code-input.ts";

/** A tool of the AI SDK, version 6: fits its type `Tool` without the package. */
export interface AiSdkCodeTool {
  readonly description: string;
  readonly inputSchema: StandardCodeInput;
  /** Throws if codecell itself fails; the AI SDK shows the model the message. A program that fails is an output. */
  readonly execute: (input: CodeInput, options: { readonly abortSignal?: AbortSignal }) => Promise<CodeOutput>;
  readonly toModelOutput: (options: { readonly output: CodeOutput }) => AiSdkModelOutput;
}

/** An output as the AI SDK sends it to a model. */
export type AiSdkModelOutput =
  | { type: "text"; value: string }
  | {
      type: "content";
      value: ({ type: "text"; text: string } | { type: "image-data"; data: string; mediaType: string })[];
    };

/**
 * A tool that runs a model's code in a session, for `generateText`, `streamText` and agents. Parallel calls take turns. The images
 * that a run displays reach the model. Aborting the generation interrupts the run.
 */
export function codeTool(session: CodeSession, options: CodeToolOptions = {}): AiSdkCodeTool {
  const tool = codeToolOf(session, options);
  return {
    description: tool.description,
    inputSchema: standardCodeInput,
    execute: (input, { abortSignal } = {}) => tool.call(input, abortSignal),
    toModelOutput: ({ output }) => modelOutput(output),
  };
}

function modelOutput({ text, images }: CodeOutput): AiSdkModelOutput {
  if (images.length === 0) return { type: "text", value: text };
  const shown = images.map(({ data, mimeType }) => ({ type: "image-data" as const, data, mediaType: mimeType }));
  return { type: "content", value: [{ type: "text", text }, ...shown] };
}
