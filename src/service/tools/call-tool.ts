import { z } from "zod";
import { CodecellError, messageOf } from "../../lib/errors.ts";
import { loadOnce } from "../../lib/load-once.ts";
import { type Logger, silentLogger } from "../../lib/log/logger.ts";
import type { LazySandbox } from "../lazy-sandbox.ts";
import type { WireError } from "../wire/error.ts";
import type { Tool, ToolContent, ToolContext } from "./tool.ts";

/** What a surface sends back. A failed call has `error` instead of `facts`, because facts must match the output schema. */
export type ToolOutcome =
  | {
      readonly isError: false;
      readonly facts: Readonly<Record<string, unknown>>;
      readonly content: readonly ToolContent[];
    }
  | { readonly isError: true; readonly error: WireError["error"]; readonly content: readonly ToolContent[] };

/** One call of a tool. */
export interface ToolCall {
  /** the arguments from the model, not validated; `tool.input` validates them and adds the defaults */
  readonly args: unknown;
  readonly context: ToolContext;
  readonly logger?: Logger;
}

const loadErrorReplies = loadOnce(() => Promise.all([import("../replies/error-text.ts"), import("../guest-error.ts")]));

/** Calls a tool and turns any failure into a reply that tells the model what to do next. */
export async function callTool(tool: Tool, sandbox: LazySandbox, call: ToolCall): Promise<ToolOutcome> {
  const { args, context, logger = silentLogger } = call;
  const { name } = tool;
  const startedAt = performance.now();
  const log = (failed: boolean) =>
    logger.debug("a tool was called", { tool: name, failed, ms: Math.round(performance.now() - startedAt) });
  try {
    const reply = await tool.call(parsedArguments(tool, args), await sandbox.open(), context);
    const { facts, text = JSON.stringify(facts), more = [] } = reply;
    log(false);
    return { isError: false, facts, content: [{ type: "text", text }, ...more] };
  } catch (error) {
    log(true);
    const [{ errorReply }, { isWithheld }] = await loadErrorReplies();
    if (sandbox.isForGuests && isWithheld(error)) {
      logger.error(`${name} failed: ${messageOf(error)}`, { tool: name, error });
    }
    const { isForGuests: isGuest, hasOnlyTool } = sandbox;
    const { text, error: data } = errorReply(error, { isGuest, hasOnlyTool, nextSteps: tool.nextSteps });
    return { isError: true, error: data, content: [{ type: "text", text }] };
  }
}

function parsedArguments(tool: Tool, args: unknown): Record<string, unknown> {
  const parsed = tool.input.safeParse(args);
  if (parsed.success) return parsed.data;
  throw new CodecellError("usage", `the arguments of ${tool.name} are not valid: ${z.prettifyError(parsed.error)}`);
}
