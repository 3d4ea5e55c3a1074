// An MCP server whose only tool does nothing, to measure the cost of the protocol on this machine.
import { McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";

const text = "status: ok · 1 ms\n[value]\n2";
const input = z.strictObject({ code: z.string(), session_id: z.string().optional() });

serveStdio(() => {
  const server = new McpServer({ name: "echo", version: "1" });
  server.registerTool("run_python", { inputSchema: input }, async () => ({ content: [{ type: "text", text }] }));
  return server;
});
process.stdin.once("end", () => process.exit(0));
