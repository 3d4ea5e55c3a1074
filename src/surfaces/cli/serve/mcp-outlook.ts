import { access } from "node:fs/promises";
import { join } from "node:path";
import { mayHaveProcesses } from "../../../policy/isolation.ts";
import { hasModel } from "../../../service/rlm/model-source.ts";
import { type PolicyFacts, policyFacts, strictestFacts } from "../../../service/tools/policy-facts.ts";
import { type HostEffects, hostEffects } from "../../../service/tools/tool-hints.ts";
import { modelChoice } from "../shell/model-options.ts";
import type { Terminal } from "../shell/terminal.ts";
import { knownPython } from "./known-python.ts";
import type { McpFlags } from "./mcp-options.ts";

/** The same name as `policyFileName`, without importing the parser. */
export const defaultPolicyFile = "sandbox.policy.yaml";

/** What a client and its model learn of the policy before the first call. */
export interface McpOutlook {
  readonly effects: HostEffects;
  /** absent: the policy cannot be read */
  readonly facts?: PolicyFacts;
  /** whether code may call tools of other MCP servers */
  readonly permitsTools?: boolean;
  /** whether a model is set up for code and sub-agents */
  readonly hasModel?: boolean;
}

/**
 * What code may do outside its cell, for the tools' hints, and its limits, for the instructions. The policy is read only if there is one, because that is the
 * slowest step, and most clients start a server only to list its tools.
 */
export async function mcpOutlook(flags: McpFlags, terminal: Terminal): Promise<McpOutlook> {
  const { facts, ...outlook } = await policyOutlook(flags, terminal);
  const python = facts && (await knownPython(flags, terminal));
  return { ...outlook, ...(facts ? { facts: { ...facts, ...(python ? { python } : {}) } } : {}) };
}

async function policyOutlook(flags: McpFlags, terminal: Terminal): Promise<McpOutlook> {
  const isNamed = flags.policy !== undefined || Boolean(terminal.env.CODECELL_POLICY);
  const hasPolicy = isNamed || (await exists(join(terminal.cwd, defaultPolicyFile)));
  const { workspace, mount, timeout, memory } = flags;
  const isPlain = !hasPolicy && [workspace, mount, timeout, memory].every((flag) => flag === undefined);
  if (isPlain) {
    const facts = { ...strictestFacts, hasProcesses: mayHaveProcesses(flags.runner ?? "auto") };
    return { effects: { writesHost: false, reachesNetwork: false }, facts };
  }
  try {
    const { mcpPolicy } = await import("./mcp-open.ts");
    const policy = await mcpPolicy(flags, terminal);
    const effects = hostEffects(policy);
    const facts = policyFacts(policy);
    const models = hasModel(terminal.env, modelChoice(flags, terminal), policy);
    const { allow } = policy.tools;
    if (flags["tools-from"] === undefined || allow.length === 0) return { effects, facts, hasModel: models };
    // Servers may reach anything, and a tool that is named exactly may change something.
    const changes = allow.some((entry) => !entry.includes("*"));
    return {
      effects: { writesHost: effects.writesHost || changes, reachesNetwork: true },
      facts,
      permitsTools: true,
      hasModel: models,
    };
  } catch {
    // The first call reports a policy that cannot be read; until then, assume the worst.
    return { effects: { writesHost: true, reachesNetwork: true } };
  }
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
