import { McpServer } from "@modelcontextprotocol/server";
import { type Logger, silentLogger } from "../../lib/log/logger.ts";
import type { LazySandbox } from "../../service/lazy-sandbox.ts";
import { instructionsFor } from "../../service/tools/instructions.ts";
import { toolsOf } from "../../service/tools/toolset.ts";
import type { ToolsetName } from "../../service/tools/toolset-name.ts";
import { codecellVersion } from "../../service/version.ts";
import { registerArtifactResources } from "./artifact-resources.ts";
import { registerTool } from "./register-tool.ts";

/** Options of an MCP server. */
export interface McpServerOptions {
  /** which tools to offer; default: all */
  readonly tools?: ToolsetName;
  /** whether a model is set up, so that sub-agents are offered */
  readonly hasModel?: boolean;
  /** false: cells have no processes, so bash and checkpoints are not offered; default: what the policy's runner has */
  readonly hasProcesses?: boolean;
  /** whether answers hold structured content too, and tools their output schemas, for programs; default: false */
  readonly structured?: boolean;
  readonly logger?: Logger;
}

const listTtlMs = 300_000;

/** Creates the MCP server of one connection. It owns nothing: connections of one sandbox share its sessions and runs. */
export function createMcpServer(sandbox: LazySandbox, options: McpServerOptions = {}): McpServer {
  const { tools = "all", hasModel = false, structured = false, logger = silentLogger } = options;
  const { facts } = sandbox;
  const { hasProcesses = facts?.hasProcesses ?? true } = options;
  const server = new McpServer(
    { name: "codecell", title: "codecell sandbox", version: codecellVersion() },
    {
      instructions: instructionsFor(tools, facts && { ...facts, hasProcesses }),
      capabilities: { tools: {}, resources: { listChanged: true } },
      cacheHints: { "tools/list": { ttlMs: listTtlMs, cacheScope: "public" } },
    },
  );
  for (const tool of toolsOf(tools, { hasModel, hasProcesses })) {
    registerTool(server, tool, sandbox, { isStructured: structured, logger });
  }
  registerArtifactResources(server, sandbox);
  return server;
}
