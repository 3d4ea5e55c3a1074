import type { CallToolResult, McpServer, ServerContext } from "@modelcontextprotocol/server";
import type { z } from "zod";
import type { Logger } from "../../lib/log/logger.ts";
import type { LazySandbox } from "../../service/lazy-sandbox.ts";
import { callTool, type ToolOutcome } from "../../service/tools/call-tool.ts";
import type { Tool, ToolContext } from "../../service/tools/tool.ts";
import { toolHints } from "../../service/tools/tool-hints.ts";

/** Offers a tool of the service layer over MCP. */
export function registerTool(server: McpServer, tool: Tool, sandbox: LazySandbox, logger: Logger): void {
  const { name, title, description, input, output, isMain } = tool;
  const annotations = { title, ...toolHints(tool, sandbox.effects) };
  const _meta = { "anthropic/maxResultSizeChars": 100_000, ...(isMain ? { "anthropic/alwaysLoad": true } : {}) };
  const schemas: { inputSchema: z.ZodObject; outputSchema: z.ZodObject } = { inputSchema: input, outputSchema: output };
  server.registerTool(name, { title, description, ...schemas, annotations, _meta }, async (args, context) =>
    toResult(await callTool(tool, sandbox, { args, context: contextOf(context), logger })),
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

/** The content blocks of the service have the same shape as MCP's. */
function toResult(outcome: ToolOutcome): CallToolResult {
  const content = [...outcome.content];
  if (!outcome.isError) return { content, structuredContent: outcome.facts };
  return { content, isError: true, _meta: { "codecell/error": outcome.error } };
}
