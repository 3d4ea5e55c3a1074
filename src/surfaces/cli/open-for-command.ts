import type { Audit } from "../../audit/audit.ts";
import { Cleanup } from "../../lib/cleanup.ts";
import { Codecell } from "../../sessions/codecell.ts";
import type { CommandContext } from "./command.ts";
import { commandAudit } from "./command-audit.ts";
import { type EffectivePolicy, effectivePolicy } from "./effective-policy.ts";
import { choiceLines, policyLines } from "./format-choice.ts";
import type { PolicyFlags } from "./policy-options.ts";
import { progressLogger } from "./progress-logger.ts";
import { safeText } from "./safe-text.ts";
import type { StateFlags } from "./state-dir.ts";

/**
 * Opens a codecell under the policy that the flags give, and its audit, which is disposed after it; with `verbose`, says
 * which policy and runner it is.
 */
export async function openForCommand(
  flags: PolicyFlags & StateFlags & { readonly verbose?: boolean | undefined },
  context: CommandContext,
): Promise<{ codecell: Codecell; audit: Audit; effective: EffectivePolicy }> {
  const { terminal } = context;
  const verbose = flags.verbose === true;
  const effective = await effectivePolicy(flags, terminal);
  const say = (lines: string[]) => {
    if (verbose) for (const line of lines) terminal.stderr.write(`codecell: ${safeText(line)}\n`);
  };
  say(policyLines(effective));
  const logger = progressLogger(terminal.stderr, verbose);
  await using cleanup = new Cleanup();
  const audit = await commandAudit(effective, flags, terminal, logger);
  cleanup.defer(() => audit[Symbol.asyncDispose]());
  const codecell = await Codecell.open({ policy: effective.policy, runners: context.runners(logger), audit });
  say(choiceLines(codecell.choice));
  cleanup.move();
  return { codecell, audit, effective };
}
