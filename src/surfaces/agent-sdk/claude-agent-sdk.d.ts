/**
 * The part of the Agent SDK that is used here. The SDK is an optional peer, so this package compiles without it. The declarations that
 * are published import the real types, and `test/clients` checks this code against them.
 */
declare module "@anthropic-ai/claude-agent-sdk" {
  export interface HookJSONOutput {
    hookSpecificOutput?: {
      hookEventName: "PreToolUse";
      permissionDecision?: "allow" | "deny" | "ask" | "defer";
      permissionDecisionReason?: string;
      updatedInput?: Record<string, unknown>;
    };
  }

  export interface PreToolUseHookInput {
    hook_event_name: "PreToolUse";
    tool_name: string;
    tool_input: unknown;
    tool_use_id: string;
    agent_id?: string;
    agent_type?: string;
    permission_mode?: string;
    mcp_server?: { name: string; source: string };
  }

  export type HookInput = PreToolUseHookInput | { hook_event_name: "UserPromptSubmit" };

  export type HookCallback = (
    input: HookInput,
    toolUseID: string | undefined,
    options: { signal: AbortSignal },
  ) => Promise<HookJSONOutput>;

  export interface HookCallbackMatcher {
    matcher?: string;
    hooks: HookCallback[];
    timeout?: number;
    onFailure?: "continue" | "block";
  }

  export type HookEvent = "PreToolUse" | "UserPromptSubmit";

  export interface McpSdkServerConfigWithInstance {
    type: "sdk";
    name: string;
    instance: unknown;
  }

  export type McpServerConfig = McpSdkServerConfigWithInstance | { type?: "stdio"; command: string; args?: string[] };

  export interface Settings {
    env?: Record<string, string>;
  }

  export interface Options {
    abortController?: AbortController;
    allowedTools?: string[];
    canUseTool?: (...args: never[]) => Promise<unknown>;
    disallowedTools?: string[];
    env?: Record<string, string | undefined>;
    extraArgs?: Record<string, string | null>;
    hooks?: Partial<Record<HookEvent, HookCallbackMatcher[]>>;
    mcpServers?: Record<string, McpServerConfig>;
    outputFormat?: { type: "json_schema"; schema: Record<string, unknown> };
    permissionPromptToolName?: string;
    settings?: string | Settings;
    settingSources?: ("user" | "project" | "local")[];
    strictMcpConfig?: boolean;
    toolAliases?: Record<string, string>;
    tools?: string[] | { type: "preset"; preset: "claude_code" };
  }

  export type SDKMessage =
    | { type: "system"; subtype: string }
    | { type: "assistant"; message: { content: unknown } }
    | { type: "user"; message: { content: unknown } };
  export interface SDKUserMessage {
    type: "user";
  }

  export interface Query extends AsyncGenerator<SDKMessage, void> {
    interrupt(): Promise<unknown>;
    applyFlagSettings(settings: object): Promise<void>;
    setMcpServers(servers: Record<string, McpServerConfig>): Promise<unknown>;
    close(): void;
  }

  export function query(params: { prompt: string | AsyncIterable<SDKUserMessage>; options?: Options }): Query;

  interface CallToolResult {
    [key: string]: unknown;
    content: (
      | { type: "text"; text: string }
      | { type: "image"; data: string; mimeType: string }
      | { type: "resource"; resource: { uri: string; mimeType: string; blob: string } }
    )[];
    isError?: boolean;
  }

  export function tool(
    name: string,
    description: string,
    inputSchema: import("zod").ZodRawShape,
    handler: (args: Record<string, unknown>, extra: unknown) => Promise<CallToolResult>,
    extras?: { annotations?: object; alwaysLoad?: boolean },
  ): { name: string };

  export function createSdkMcpServer(options: {
    name: string;
    version?: string;
    instructions?: string;
    tools?: { name: string }[];
    alwaysLoad?: boolean;
  }): McpSdkServerConfigWithInstance;

  export const BUILTIN_TOOL_NAMES: readonly string[];
}
