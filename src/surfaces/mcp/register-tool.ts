import type { CallToolResult, McpServer, ServerContext } from "@modelcontextprotocol/server";
import type { z } from "zod";
import type { Logger } from "../../lib/log/logger.ts";
import type { LazySandbox } from "../../service/lazy-sandbox.ts";
import { callTool, type ToolOutcome } from "../../service/tools/call-tool.ts";
import type { Tool, ToolContext } from "../../service/tools/tool.ts";
import { toolHints } from "../../service/tools/tool-hints.ts";
import { leanSchema } from "./lean-schema.ts";

export interface RegisterOptions {
  /** whether answers hold structured content too, and tools their output schemas */
  readonly isStructured: boolean;
  readonly logger: Logger;
}

/** Offers a tool of the service layer over MCP. */
export function registerTool(server: McpServer, tool: Tool, sandbox: LazySandbox, options: RegisterOptions): void {
  const { isStructured, logger } = options;
  const { name, title, limits, input, output, isMain, isLarge } = tool;
  const { facts } = sandbox;
  const description = limits && facts ? `${tool.description} ${limits(facts)}` : tool.description;
  const annotations = toolHints(tool, sandbox.effects);
  const meta = {
    ...(isLarge ? { "anthropic/maxResultSizeChars": 100_000 } : {}),
    ...(isMain ? { "anthropic/alwaysLoad": true } : {}),
  };
  const _meta = Object.keys(meta).length > 0 ? { _meta: meta } : {};
  const inputSchema = leanSchema(input);
  const schemas: { inputSchema: z.ZodObject; outputSchema?: z.ZodObject } = isStructured
    ? { inputSchema, outputSchema: output }
    : { inputSchema };
  server.registerTool(name, { title, description, ...schemas, annotations, ..._meta }, async (args, context) =>
    toResult(await callTool(tool, sandbox, { args, context: contextOf(context), logger }), isStructured),
  );
}

function contextOf({ mcpReq }: ServerContext): ToolContext {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return { signal: mcpReq.signal };
  let last = 0;
  return {
    signal: mcpReq.signal,
    progress({ seconds, message }) {
      last = Math.max(seconds, last + 1); // MCP requires it to increase with every notification
      const params = { progressToken, progress: last, message };
      mcpReq.notify({ method: "notifications/progress", params }).catch(() => {});
    },
  };
}

/**
 * The content blocks of the service have the same shape as MCP's. Most clients show structured content instead of the
 * text, with all its empty fields, so it is sent only on request.
 */
function toResult(outcome: ToolOutcome, isStructured: boolean): CallToolResult {
  const content = [...outcome.content];
  if (outcome.isError) return { content, isError: true, _meta: { "codecell/error": outcome.error } };
  return isStructured ? { content, structuredContent: outcome.facts } : { content };
}
