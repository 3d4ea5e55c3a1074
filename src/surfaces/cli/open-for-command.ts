import type { Audit } from "../../audit/audit.ts";
import { Cleanup } from "../../lib/cleanup.ts";
import { Codecell } from "../../sessions/codecell.ts";
import type { CommandContext } from "./command.ts";
import { commandAudit } from "./command-audit.ts";
import type { CommandLogger } from "./command-logger.ts";
import { type EffectivePolicy, effectivePolicy } from "./effective-policy.ts";
import { choiceLines, policyLines } from "./format-choice.ts";
import type { PolicyFlags } from "./policy-options.ts";
import type { StateFlags } from "./state-dir.ts";

/**
 * Opens a codecell under the policy that the flags give, and its audit, which is disposed after it; with `verbose`, says
 * which policy and runner it is.
 */
export async function openForCommand(
  flags: PolicyFlags & StateFlags,
  context: CommandContext,
  logger: CommandLogger,
): Promise<{ codecell: Codecell; audit: Audit; effective: EffectivePolicy }> {
  const { terminal } = context;
  const effective = await effectivePolicy(flags, terminal);
  logger.explain(policyLines(effective));
  await using cleanup = new Cleanup();
  const audit = await commandAudit(effective, flags, terminal, logger);
  cleanup.defer(() => audit[Symbol.asyncDispose]());
  const codecell = await Codecell.open({ policy: effective.policy, runners: context.runners(logger), audit, logger });
  logger.explain(choiceLines(codecell.choice));
  cleanup.move();
  return { codecell, audit, effective };
}
