import type { HookCallbackMatcher, McpSdkServerConfigWithInstance, Options } from "@anthropic-ai/claude-agent-sdk";
import { CodecellError } from "../../lib/errors.ts";
import { checkedTools } from "./gate.ts";
import { hostCodeTools, isMcpTool, isServerNameTaken, runToolName, serverName } from "./tool-names.ts";

/** Claude Code's bare mode, which runs no hooks: neither those of settings nor the gate. */
const bareMode = "CLAUDE_CODE_SIMPLE";

/** The parts of a query that belong to its sandbox. */
export interface SandboxParts {
  readonly server: McpSdkServerConfigWithInstance;
  readonly gate: HookCallbackMatcher;
  /** a UserPromptSubmit hook that proves that hooks run */
  readonly canary: HookCallbackMatcher;
  readonly allowedHostTools: readonly string[];
}

/** Throws `usage` for options that the gate could not hold under, or that contradict it. */
export function checkOptions(options: Options, allowedHostTools: readonly string[]): void {
  checkedTools(allowedHostTools);
  checkServers(options.mcpServers ?? {});
  if (Object.keys(options.extraArgs ?? {}).some((name) => name.replace(/^-+/, "") === "bare")) {
    throw new CodecellError("usage", "extraArgs: in bare mode Claude Code runs no hooks, so the gate cannot hold", {
      hint: "remove bare; `settingSources: []` already keeps settings files out",
    });
  }
  const offered = Array.isArray(options.tools) ? options.tools : [];
  const unnamed = offered.filter((name) => !allowedHostTools.includes(name) && !hostCodeTools.includes(name));
  if (unnamed.length > 0) {
    throw new CodecellError("usage", `tools: the gate would deny ${unnamed.join(", ")}`, {
      hint: `add ${unnamed.map((name) => JSON.stringify(name)).join(", ")} to allowedHostTools, or remove it from tools`,
    });
  }
}

/** Throws `usage` for a server whose tools would have the names of the sandbox. */
export function checkServers(servers: Readonly<Record<string, unknown>>): void {
  const taken = Object.keys(servers).find(isServerNameTaken);
  if (taken === undefined) return;
  throw new CodecellError("usage", `mcpServers: the name ${taken} belongs to the sandbox`, {
    hint: "choose another name for that server",
  });
}

/** Pure: options for the SDK's `query`, with the sandbox as the only place where code runs. */
export function sandboxedOptions(options: Options, parts: SandboxParts, env: NodeJS.ProcessEnv = process.env): Options {
  const { allowedHostTools } = parts;
  const canAsk = options.canUseTool !== undefined || options.permissionPromptToolName !== undefined;
  const builtIn = allowedHostTools.filter((name) => !isMcpTool(name));
  const hooks = options.hooks ?? {};
  return {
    ...options,
    ...withoutBareMode(options, env),
    // The model is offered nothing that the gate denies.
    tools: Array.isArray(options.tools) ? options.tools.filter((name) => allowedHostTools.includes(name)) : builtIn,
    // Slash commands and skills can run shell commands without a tool call. Without Bash in `tools` those are refused already; this
    // refuses them on its own.
    disallowedTools: [...(options.disallowedTools ?? []), ...hostCodeTools],
    toolAliases: { ...options.toolAliases, Bash: runToolName },
    // If nobody can be asked, a tool that the host program named would be denied by the SDK.
    allowedTools: [...(options.allowedTools ?? []), ...(canAsk ? [] : allowedHostTools)],
    mcpServers: { ...options.mcpServers, [serverName]: parts.server },
    // Settings files can start programs on the host: hooks, MCP servers, plugins.
    settingSources: options.settingSources ?? [],
    strictMcpConfig: options.strictMcpConfig ?? true,
    hooks: {
      ...hooks,
      PreToolUse: [...(hooks.PreToolUse ?? []), parts.gate],
      UserPromptSubmit: [...(hooks.UserPromptSubmit ?? []), parts.canary],
    },
  };
}

/** Settings for Claude Code that leave its bare mode off. */
export function settingsWithHooks<Given extends { env?: unknown }>(settings: Given): Given {
  return { ...settings, env: { ...Object(settings.env), [bareMode]: "0" } };
}

/** Settings of the query outrank those of files, so bare mode can be turned off there as well. */
function withoutBareMode(
  { env: given, settings }: Options,
  inherited: NodeJS.ProcessEnv,
): Pick<Options, "env" | "settings"> {
  const { [bareMode]: bare, ...env } = given ?? inherited;
  return {
    ...(bare === undefined ? {} : { env }),
    ...(typeof settings === "string" ? {} : { settings: settingsWithHooks(settings ?? {}) }),
  };
}
