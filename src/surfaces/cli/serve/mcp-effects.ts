import { access } from "node:fs/promises";
import { join } from "node:path";
import { type HostEffects, hostEffects } from "../../../service/tools/tool-hints.ts";
import type { Terminal } from "../shell/terminal.ts";
import type { McpFlags } from "./mcp-options.ts";

/** The same name as `policyFileName`, without importing the parser. */
export const defaultPolicyFile = "sandbox.policy.yaml";

/**
 * What code may do outside its cell, for the tools' hints. The policy is read only if there is one, because that is the
 * slowest step, and most clients start a server only to list its tools.
 */
export async function mcpEffects(flags: McpFlags, terminal: Terminal): Promise<HostEffects> {
  const isNamed = flags.policy !== undefined || Boolean(terminal.env.CODECELL_POLICY);
  const hasPolicy = isNamed || (await exists(join(terminal.cwd, defaultPolicyFile)));
  const isPlain = !hasPolicy && flags.workspace === undefined && flags.mount === undefined;
  if (isPlain) return { writesHost: false, reachesNetwork: false };
  try {
    const { mcpPolicy } = await import("./mcp-open.ts");
    return hostEffects(await mcpPolicy(flags, terminal));
  } catch {
    // The first call reports a policy that cannot be read; until then, assume the worst.
    return { writesHost: true, reachesNetwork: true };
  }
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
