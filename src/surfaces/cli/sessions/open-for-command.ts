import type { PolicyOverride } from "../../../policy/schema.ts";
import { Codecell } from "../../../sessions/codecell.ts";
import type { CommandContext } from "../command.ts";
import { choiceLines, policyLines } from "../format/format-choice.ts";
import { effectivePolicy } from "../policy/effective-policy.ts";
import type { PolicyFlags } from "../policy/policy-options.ts";
import { hintAtCopies } from "../project/project-mount.ts";
import { commandAudit } from "../shell/command-audit.ts";
import type { CommandLogger } from "../shell/command-logger.ts";
import { type StateFlags, stateDirOf } from "../shell/state-dir.ts";

/** What a command changes in its policy. */
export interface CommandRules {
  /** overrides `session.persist` of the policy */
  readonly persist: boolean;
  /** the command starts one cell and exits */
  readonly isForOneCell?: boolean;
  /** rules about models that the operator types; they add models, and set the rest */
  readonly llm?: PolicyOverride["llm"];
  /** the command lets code call models */
  readonly usesModels?: boolean;
}

/** Opens a codecell under the policy from the flags; with `verbose`, prints the policy and the runner. */
export async function openForCommand(
  flags: PolicyFlags & StateFlags,
  { terminal, runners }: CommandContext,
  logger: CommandLogger,
  { persist, isForOneCell = false, llm, usesModels = false }: CommandRules,
): Promise<Codecell> {
  const effective = await effectivePolicy(flags, terminal, llm);
  logger.explain(policyLines(effective));
  // A command opens at most one session, so a pool of warm cells is useless.
  const policy = { ...effective.policy, session: { ...effective.policy.session, persist, pool: 0 } };
  const codecell = await Codecell.open({
    policy,
    audit: await commandAudit({ ...effective, policy }, flags, terminal, logger),
    runners: await runners(logger, { named: policy.isolation.runner, isForOneCell }),
    stateDir: stateDirOf(flags, terminal),
    hostCalls: { models: usesModels },
    filesStayInCell: !persist, // they end with the command
    logger: logger.background, // commands themselves report what could not be saved
  }).catch((error: unknown) => {
    throw hintAtCopies(error, flags);
  });
  logger.explain(choiceLines(codecell.choice));
  return codecell;
}
