import { resolve } from "node:path";
import { loadPolicy } from "../../../policy/file/load-policy.ts";
import { parseToolset } from "../serve/mcp-options.ts";
import type { Terminal } from "../shell/terminal.ts";
import type { McpEntry } from "./mcp-json.ts";
import { ownCommand, sharedCommand } from "./own-command.ts";

export interface ServerFlags {
  readonly policy?: string | undefined;
  readonly tools?: string | undefined;
}

/** How a client starts the server; in a file that others share, by its name if that is this installation. */
export async function serverEntry(
  flags: ServerFlags,
  { cwd, env }: Terminal,
  { isShared }: { isShared: boolean },
): Promise<McpEntry> {
  // With an invalid policy the server would start, but every tool call would fail.
  if (flags.policy !== undefined) await loadPolicy(resolve(cwd, flags.policy));
  const [command = "", ...before] = isShared ? await sharedCommand(env.PATH ?? "") : ownCommand();
  const policy = flags.policy === undefined ? [] : ["--policy", resolve(cwd, flags.policy)];
  return { command, args: [...before, "mcp", ...toolsArguments(flags), ...policy] };
}

export function toolsArguments({ tools }: ServerFlags): string[] {
  return tools === undefined ? [] : ["--tools", parseToolset(tools)];
}
