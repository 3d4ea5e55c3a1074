import { resolve } from "node:path";
import type { Policy } from "../../../policy/schema.ts";
import { hasModel } from "../../../service/rlm/model-source.ts";
import { Codecell } from "../../../sessions/codecell.ts";
import { namingOuterSandbox } from "../../../sessions/outer-sandbox.ts";
import type { CommandContext } from "../command.ts";
import { PolicyReloader } from "../policy/reload-policy.ts";
import { servedPolicy } from "../policy/served-policy.ts";
import { commandAudit } from "../shell/command-audit.ts";
import type { CommandLogger } from "../shell/command-logger.ts";
import { modelChoice } from "../shell/model-options.ts";
import { stateDirOf } from "../shell/state-dir.ts";
import type { Terminal } from "../shell/terminal.ts";
import { guardToolsFile } from "./guard-tools-file.ts";
import type { McpFlags } from "./mcp-options.ts";

/** The policy of an MCP server. */
export async function mcpPolicy(flags: McpFlags, terminal: Terminal): Promise<Policy> {
  return (await servedPolicy(flags, terminal)).policy;
}

export function mcpReloader(flags: McpFlags, terminal: Terminal, logger: CommandLogger): PolicyReloader {
  return new PolicyReloader(() => mcpPolicy(flags, terminal), logger);
}

/** The work of the first tool call: reads the policy, chooses a runner and opens the sessions on disk. */
export async function openMcpManager(
  flags: McpFlags,
  { terminal, runners }: CommandContext,
  logger: CommandLogger,
): Promise<Codecell> {
  const served = await servedPolicy(flags, terminal);
  const { policy } = served;
  const toolsFile = flags["tools-from"];
  if (toolsFile !== undefined) guardToolsFile(policy, resolve(terminal.cwd, toolsFile));
  const named = flags["runtime-dir"];
  const runtimeDir = named === undefined ? undefined : resolve(terminal.cwd, named);
  const audit = await commandAudit(served, flags, terminal, logger);
  const stateDir = stateDirOf(flags, terminal);
  const models = hasModel(terminal.env, modelChoice(flags, terminal), policy);
  const hostCalls = { tools: toolsFile !== undefined, models };
  const options = {
    policy,
    runners: await runners(logger, { runtimeDir }),
    stateDir,
    ...(runtimeDir === undefined ? {} : { runtimeDir }),
    logger,
    audit,
    hostCalls,
    heldBy: "mcp",
  };
  return Codecell.open(options).catch(async (error: unknown) => {
    throw await namingOuterSandbox(error, terminal.env);
  });
}
