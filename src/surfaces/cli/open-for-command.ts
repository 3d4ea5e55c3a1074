import { Codecell } from "../../sessions/codecell.ts";
import type { CommandContext } from "./command.ts";
import { type EffectivePolicy, effectivePolicy } from "./effective-policy.ts";
import { choiceLines, policyLines } from "./format-choice.ts";
import type { PolicyFlags } from "./policy-options.ts";
import { progressLogger } from "./progress-logger.ts";
import { safeText } from "./safe-text.ts";

/** Opens a codecell under the policy that the flags give; with `verbose`, says which policy and runner it is. */
export async function openForCommand(
  flags: PolicyFlags & { readonly verbose?: boolean | undefined },
  context: CommandContext,
): Promise<{ codecell: Codecell; effective: EffectivePolicy }> {
  const { terminal } = context;
  const verbose = flags.verbose === true;
  const effective = await effectivePolicy(flags, terminal);
  const say = (lines: string[]) => {
    if (verbose) for (const line of lines) terminal.stderr.write(`codecell: ${safeText(line)}\n`);
  };
  say(policyLines(effective));
  const runners = context.runners(progressLogger(terminal.stderr, verbose));
  const codecell = await Codecell.open({ policy: effective.policy, runners });
  say(choiceLines(codecell.choice));
  return { codecell, effective };
}
