import { McpServer } from "@modelcontextprotocol/server";
import { type Logger, silentLogger } from "../../lib/log/logger.ts";
import type { LazySandbox } from "../../service/lazy-sandbox.ts";
import { instructionsFor } from "../../service/tools/instructions.ts";
import type { HostEffects } from "../../service/tools/tool-hints.ts";
import { toolsOf } from "../../service/tools/toolset.ts";
import type { ToolsetName } from "../../service/tools/toolset-name.ts";
import { registerArtifactResources } from "./artifact-resources.ts";
import { registerTool } from "./register-tool.ts";

export interface McpServerOptions {
  readonly version: string;
  readonly tools: ToolsetName;
  readonly effects: HostEffects;
  /** whether a model is there for sub-agents */
  readonly hasModel?: boolean;
  readonly logger?: Logger;
}

const listTtlMs = 300_000;

/** One protocol instance: per connection, or per request where the protocol has no connections. It owns nothing. */
export function createMcpServer(sandbox: LazySandbox, options: McpServerOptions): McpServer {
  const { version, tools, effects, hasModel = false, logger = silentLogger } = options;
  const server = new McpServer(
    { name: "codecell", title: "codecell sandbox", version },
    {
      instructions: instructionsFor(tools),
      capabilities: { tools: {}, resources: { listChanged: true } },
      cacheHints: { "tools/list": { ttlMs: listTtlMs, cacheScope: "public" } },
    },
  );
  for (const tool of toolsOf(tools, { hasModel })) registerTool(server, tool, { sandbox, effects, logger });
  registerArtifactResources(server, sandbox);
  return server;
}
