import type { Logger } from "../../lib/logger.ts";
import type { Policy } from "../../policy/schema.ts";
import { SessionManager } from "../../sessions/manager.ts";
import type { CommandContext } from "./command.ts";
import { effectivePolicy } from "./effective-policy.ts";
import type { McpFlags } from "./mcp-options.ts";
import { projectDirectory } from "./project-directory.ts";
import { stateDirOf } from "./state-dir.ts";
import type { Terminal } from "./terminal.ts";

/**
 * The policy of an MCP server. Where nobody wrote one, it is the tightest, but files of the project may be loaded into a
 * variable; the deny globs hold there as everywhere.
 */
export async function mcpPolicy(flags: McpFlags, terminal: Terminal): Promise<Policy> {
  const { policy, file } = await effectivePolicy(flags, terminal);
  if (file !== undefined) return policy;
  return { ...policy, fs: { ...policy.fs, load: [projectDirectory(terminal)] } };
}

/** What the first tool call costs: the policy, the choice of an isolation, and the sessions on disk. */
export async function openMcpManager(
  flags: McpFlags,
  { terminal, runners }: CommandContext,
  logger: Logger,
): Promise<SessionManager> {
  const policy = await mcpPolicy(flags, terminal);
  return SessionManager.open({ policy, runners: runners(logger), stateDir: stateDirOf(flags, terminal), logger });
}
