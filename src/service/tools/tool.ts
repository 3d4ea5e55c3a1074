import type { CallToolResult, McpServer, ServerContext, ToolAnnotations } from "@modelcontextprotocol/server";
import type { z } from "zod";
import { messageOf } from "../../lib/errors.ts";
import { loadOnce } from "../../lib/load-once.ts";
import type { Logger } from "../../lib/log/logger.ts";
import { isWithheld } from "../guest-error.ts";
import type { SandboxDoor } from "../lazy-sandbox.ts";
import type { Sandbox } from "../sandbox.ts";

/** What the policy lets code do outside its cell, for the hints that clients show to people. */
export interface HostEffects {
  readonly writesHost: boolean;
  readonly reachesNetwork: boolean;
}

export interface ToolSpec<Input extends z.ZodObject, Output extends z.ZodObject> {
  readonly name: string;
  readonly title: string;
  /** under 2,000 characters: clients cut it */
  readonly description: string;
  /** what the model sees is what validates its call */
  readonly input: Input;
  readonly output: Output;
  /** `code`: runs code, so the policy decides what it may touch */
  readonly effect: "reads" | "changes" | "destroys" | "code";
  readonly isIdempotent?: boolean;
  /** keeps the tool in a model's context where clients hide tools behind a search */
  readonly isMain?: boolean;
  call(args: z.output<Input>, sandbox: Sandbox, context: ServerContext): Promise<ToolReply<z.output<Output>>>;
}

/** `facts` hold everything the model needs: some clients show it nothing else. */
export interface ToolReply<Facts> {
  readonly facts: Facts;
  /** the same facts for clients that read text; absent: as JSON */
  readonly text?: string;
  readonly more?: CallToolResult["content"];
}

export interface Tool {
  readonly name: string;
  register(server: McpServer, door: SandboxDoor, effects: HostEffects, logger: Logger): void;
}

const errorReplies = loadOnce(() => import("../replies/error-reply.ts"));

export function defineTool<Input extends z.ZodObject, Output extends z.ZodObject>(spec: ToolSpec<Input, Output>): Tool {
  const { name, title, description, input, output } = spec;
  return {
    name,
    register(server, door, effects, logger) {
      const annotations = annotationsOf(spec, effects);
      const _meta = {
        "anthropic/maxResultSizeChars": 100_000,
        ...(spec.isMain ? { "anthropic/alwaysLoad": true } : {}),
      };
      const schemas: { inputSchema: z.ZodObject; outputSchema: z.ZodObject } = {
        inputSchema: input,
        outputSchema: output,
      };
      const call = async (args: unknown, context: ServerContext): Promise<CallToolResult> => {
        const began = performance.now();
        const done = (failed: boolean) =>
          logger.debug("a tool was called", { tool: name, failed, ms: Math.round(performance.now() - began) });
        try {
          const reply = toResult(await spec.call(args as z.output<Input>, await door.open(), context));
          done(false);
          return reply;
        } catch (error) {
          done(true);
          if (door.isForGuests && isWithheld(error))
            logger.error(`${name} failed: ${messageOf(error)}`, { tool: name, error });
          return (await errorReplies()).errorReply(error, door.isForGuests);
        }
      };
      server.registerTool(name, { title, description, ...schemas, annotations, _meta }, call);
    },
  };
}

function toResult({ facts, text, more = [] }: ToolReply<Record<string, unknown>>): CallToolResult {
  const shown = text ?? JSON.stringify(facts);
  return { content: [{ type: "text", text: shown }, ...more], structuredContent: facts };
}

function annotationsOf(
  { title, effect, isIdempotent }: Pick<ToolSpec<z.ZodObject, z.ZodObject>, "title" | "effect" | "isIdempotent">,
  { writesHost, reachesNetwork }: HostEffects,
): ToolAnnotations {
  return {
    title,
    readOnlyHint: effect === "reads",
    destructiveHint: effect === "destroys" || (effect === "code" && writesHost),
    idempotentHint: isIdempotent ?? effect === "reads",
    openWorldHint: effect === "code" && reachesNetwork,
  };
}
