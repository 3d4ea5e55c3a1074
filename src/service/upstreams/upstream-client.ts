import type { UpstreamConfig } from "./server-config.ts";

/** A tool as a server lists it. Nothing in it is to be trusted. */
export interface UpstreamTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: unknown;
  /** the server's own word that the tool changes nothing */
  readonly isReadOnly: boolean;
}

/** What a tool answered, unchecked. */
export interface UpstreamAnswer {
  readonly content: readonly unknown[];
  readonly structuredContent?: unknown;
  readonly isError: boolean;
}

/** A connection to one MCP server. */
export interface UpstreamClient extends AsyncDisposable {
  listTools(signal: AbortSignal): Promise<readonly UpstreamTool[]>;
  callTool(name: string, args: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<UpstreamAnswer>;
}

export interface ConnectOptions {
  readonly signal: AbortSignal;
  /** the server is gone */
  readonly onClosed: () => void;
  /** its list of tools may have changed */
  readonly onToolsChanged: () => void;
}

/** Connects to a server. The surface that speaks MCP provides it. */
export type ConnectUpstream = (config: UpstreamConfig, options: ConnectOptions) => Promise<UpstreamClient>;
