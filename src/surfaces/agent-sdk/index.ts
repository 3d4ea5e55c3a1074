/** An SDK MCP server with the tool `run`, for a query of your own. */
export { type SandboxedCodeServer, type SandboxedCodeServerOptions, sandboxedCodeServer } from "./code-server.ts";
/** A PreToolUse hook that allows the sandbox and what the host program names. */
export { type OnToolRequest, type SandboxGateOptions, sandboxGate, type ToolDecision } from "./gate.ts";
/** What a model should know about the sandbox. */
export { sandboxInstructions } from "./instructions.ts";
/** The policy of one query. */
export type { PolicyFileWithOverride, SandboxPolicy } from "./sandbox-policy.ts";
/** `query()` of the Agent SDK with a sandbox. */
export {
  type QuerySandbox,
  type SandboxedQueryOptions,
  type SandboxOptions,
  sandboxedQuery,
} from "./sandboxed-query.ts";
/** The names of the sandbox's server and tool, as the model sees them. */
export { runToolName, serverName } from "./tool-names.ts";
/** A tool that the model wants to call, and the answer of the host program. */
export type { GateReason, ToolAnswer, ToolRequest } from "./tool-request.ts";
