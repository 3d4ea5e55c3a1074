// An MCP server whose only tool does nothing, to measure the cost of the protocol on this machine.
import { McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";
import { toolRunSchema } from "../dist/service/wire/tool-run.js";

const facts = {
  ...{ status: "ok", error: null, value: "2", stdout: "", stderr: "", truncated: false, output_handle: null },
  ...{ artifacts: [], images: 0, notes: [], state: "kept", session_id: "s-0123456789abcdefghijkl" },
  ...{ run_id: "run_0123456789abcdef", exit_code: 0, duration_ms: 1, runner: "process" },
  usage: { cpu_ms: 0.2, peak_memory_bytes: 20_000_000, wall_ms: 1, sent_bytes: 0, received_bytes: 0 },
};
const text = `status: ok · 1 ms\n[value]\n2\nsession_id: ${facts.session_id} · run_id: ${facts.run_id} · runner: process`;
const input = z.strictObject({ code: z.string(), session_id: z.string().optional() });

serveStdio(() => {
  const server = new McpServer({ name: "echo", version: "1" });
  const answer = async () => ({ content: [{ type: "text", text }], structuredContent: facts });
  server.registerTool("run_python", { inputSchema: input, outputSchema: toolRunSchema }, answer);
  return server;
});
process.stdin.once("end", () => process.exit(0));
