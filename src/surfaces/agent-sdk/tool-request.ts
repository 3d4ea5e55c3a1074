import { isMcpTool, runToolName, serverName } from "./tool-names.ts";

/** A tool that the model, or a sub-agent, wants to call. */
export interface ToolRequest {
  /** the name after aliases, such as `Read` or `mcp__sandboxed_code__run` */
  readonly tool: string;
  /** what the model passed. Another hook may still change it; the name stays */
  readonly input: unknown;
  readonly toolUseId: string;
  /** whether this is the sandbox */
  readonly isSandbox: boolean;
  /** the MCP server of the tool, and where its definition came from */
  readonly server?: { readonly name: string; readonly source: string };
  /** id of the sub-agent that calls; absent: the main agent */
  readonly agentId?: string;
  readonly agentType?: string;
  readonly permissionMode?: string;
}

/** The answer of a host program to a request. */
export type ToolAnswer =
  | { readonly behavior: "allow" }
  | { readonly behavior: "deny" /** what the model reads */; readonly message?: string };

/** Why the gate decided as it did, as the audit records it. */
export type GateReason =
  | "the sandbox"
  | "named by the host program"
  | "not named by the host program"
  | "a server that the host program did not pass"
  | "denied by onToolRequest"
  | "onToolRequest failed"
  | "onToolRequest did not answer in time"
  | "the decision could not be recorded"
  | "not a request that the gate understands";

/** Sources of servers that only the host program can register: its own ones, and `mcpServers` of the query. */
const hostSources: readonly string[] = ["sdk", "dynamic"];

/** Whether a request is for the sandbox of this query. The name of a tool proves nothing: the server's source does. */
export function isSandboxTool(tool: string, server: ToolRequest["server"]): boolean {
  return tool === runToolName && server?.source === "sdk" && server.name === serverName;
}

/** Pure: the first decision, before the host program is asked. */
export function decide(
  request: Pick<ToolRequest, "tool" | "server" | "isSandbox">,
  allowedHostTools: ReadonlySet<string>,
): { readonly isAllowed: boolean; readonly reason: GateReason } {
  const { tool, server, isSandbox } = request;
  if (isSandbox) return { isAllowed: true, reason: "the sandbox" };
  // Attack: a file in the working directory configures a server whose tools have the names of trusted ones.
  const isFromHost = server === undefined ? !isMcpTool(tool) : hostSources.includes(server.source);
  if (tool === runToolName || (allowedHostTools.has(tool) && !isFromHost)) {
    return { isAllowed: false, reason: "a server that the host program did not pass" };
  }
  if (!allowedHostTools.has(tool)) return { isAllowed: false, reason: "not named by the host program" };
  return { isAllowed: true, reason: "named by the host program" };
}
