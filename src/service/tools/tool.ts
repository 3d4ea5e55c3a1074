import type { z } from "zod";
import type { NextSteps } from "../replies/error-text.ts";
import type { Sandbox } from "../sandbox.ts";
import type { PolicyFacts } from "./policy-facts.ts";

/** A tool without a transport. A surface adapts it with `callTool` and `toolHints`. */
export interface Tool<Input extends z.ZodObject = z.ZodObject, Output extends z.ZodObject = z.ZodObject> {
  readonly name: string;
  readonly title: string;
  /** under 2,000 characters: some clients truncate it there */
  readonly description: string;
  /** a sentence about what the policy gives, for the end of the description */
  readonly limits?: (facts: PolicyFacts) => string;
  /** the schema that the model sees also validates its call */
  readonly input: Input;
  readonly output: Output;
  /** `code`: runs code, so the policy decides what it may touch */
  readonly effect: "reads" | "changes" | "destroys" | "code";
  /** default: only tools that read are idempotent */
  readonly isIdempotent?: boolean;
  /** returns texts that some clients would write to a file unless told */
  readonly isLarge?: boolean;
  /** what a model can do next when this tool failed, for codes where the usual step would be wrong */
  readonly nextSteps?: NextSteps;
  /** keeps the tool in the model's context if a client hides tools behind a search */
  readonly isMain?: boolean;
  call(args: z.output<Input>, sandbox: Sandbox, context: ToolContext): Promise<ToolReply<z.output<Output>>>;
}

/** What a call knows about its caller. */
export interface ToolContext {
  /** aborted when the caller cancels the call */
  readonly signal: AbortSignal;
  /** reports the progress of a long run; undefined if the caller did not request progress */
  readonly progress?: ((update: ToolProgress) => void) | undefined;
}

/** The progress of a call. */
export interface ToolProgress {
  /** since the call started */
  readonly seconds: number;
  /** the last line that the run printed, or how long it has been running */
  readonly message: string;
}

/** The answer of a tool. `facts` are for programs, `text` is for models: each holds everything. */
export interface ToolReply<Facts> {
  readonly facts: Facts;
  /** the same facts in few words; absent: the facts as JSON */
  readonly text?: string;
  /** images and files, after the text */
  readonly more?: readonly ToolContent[];
}

/** One block of a reply, as plain data. `data` and `blob` are base64. */
export type ToolContent =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image"; readonly data: string; readonly mimeType: string }
  | ArtifactLink
  | {
      readonly type: "resource";
      readonly resource: { readonly uri: string; readonly mimeType: string; readonly blob: string };
    };

/** A file of a session by its URI; `read_artifact` reads it. */
export interface ArtifactLink {
  readonly type: "resource_link";
  readonly uri: string;
  readonly name: string;
  readonly mimeType: string;
  readonly size: number;
}

/** Type-checks a definition against its own schemas, then erases their types. */
export function defineTool<Input extends z.ZodObject, Output extends z.ZodObject>(tool: Tool<Input, Output>): Tool {
  return tool as unknown as Tool;
}
