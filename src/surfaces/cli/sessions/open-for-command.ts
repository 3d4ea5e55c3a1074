import { Cleanup } from "../../../lib/cleanup.ts";
import { LiveSessions } from "../../../sessions/live-sessions.ts";
import type { Audit } from "../../../sessions/open-audit.ts";
import type { CommandContext } from "../command.ts";
import { choiceLines, policyLines } from "../format/format-choice.ts";
import { type EffectivePolicy, effectivePolicy } from "../policy/effective-policy.ts";
import type { PolicyFlags } from "../policy/policy-options.ts";
import { commandAudit } from "../shell/command-audit.ts";
import type { CommandLogger } from "../shell/command-logger.ts";
import type { StateFlags } from "../shell/state-dir.ts";

/**
 * Opens a codecell under the policy that the flags give, and its audit, which is disposed after it; with `verbose`, says
 * which policy and runner it is.
 */
export async function openForCommand(
  flags: PolicyFlags & StateFlags,
  context: CommandContext,
  logger: CommandLogger,
): Promise<{ codecell: LiveSessions; audit: Audit; effective: EffectivePolicy }> {
  const { terminal } = context;
  const effective = await effectivePolicy(flags, terminal);
  logger.explain(policyLines(effective));
  await using cleanup = new Cleanup();
  const audit = await commandAudit(effective, flags, terminal, logger);
  cleanup.defer(() => audit[Symbol.asyncDispose]());
  const codecell = await LiveSessions.open({
    policy: effective.policy,
    runners: context.runners(logger),
    audit,
    logger,
  });
  logger.explain(choiceLines(codecell.choice));
  cleanup.move();
  return { codecell, audit, effective };
}
