import { access } from "node:fs/promises";
import { join } from "node:path";
import { writableHostPaths } from "../../../policy/paths/host-grants.ts";
import type { HostEffects } from "../../mcp/tool.ts";
import type { Terminal } from "../shell/terminal.ts";
import type { McpFlags } from "./mcp-options.ts";

/** The same name as `policyFileName`, without the parser that comes with it. */
export const defaultPolicyFile = "sandbox.policy.yaml";

/**
 * What code may do outside its cell, for the hints beside the tools. A policy is read only where somebody wrote one: most
 * starts of a server are probes, and reading it takes longer than everything else.
 */
export async function hostEffects(flags: McpFlags, terminal: Terminal): Promise<HostEffects> {
  const isNamed = flags.policy !== undefined || Boolean(terminal.env.CODECELL_POLICY);
  const hasPolicy = isNamed || (await exists(join(terminal.cwd, defaultPolicyFile)));
  const isPlain = !hasPolicy && flags.workspace === undefined && flags.mount === undefined;
  if (isPlain) return { writesHost: false, reachesNetwork: false };
  try {
    const { mcpPolicy } = await import("./mcp-open.ts");
    const policy = await mcpPolicy(flags, terminal);
    return { writesHost: writableHostPaths(policy).length > 0, reachesNetwork: policy.net.enabled };
  } catch {
    // A policy that cannot be read is told by the first call; until then the worst is assumed.
    return { writesHost: true, reachesNetwork: true };
  }
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
