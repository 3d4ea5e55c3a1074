/** Sessions, runs and files of a `Codecell`, for the servers below. Any number of connections can share a sandbox. */
export { type SandboxForOptions, sandboxFor } from "../../service/sandbox-for.ts";
/** Names of the sets of tools. */
export type { ToolsetName } from "../../service/tools/toolset-name.ts";
/** MCP over HTTP: `mcpMount` for the `mount` of `HttpService`, `McpHttpHandler` for a server of your own. */
export { McpHttpHandler, mcpMount } from "./http-handler.ts";
/** An MCP server to connect to a transport of your own. */
export { createMcpServer, type McpServerOptions } from "./server.ts";
/** MCP on this process's standard input and output. */
export { type StdioStreams, serveOverStdio } from "./stdio.ts";
