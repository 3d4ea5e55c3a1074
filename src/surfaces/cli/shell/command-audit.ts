import { policyHash } from "../../../policy/hash.ts";
import { guardAudit, guardLog } from "../../../sessions/guard-audit.ts";
import { type Audit, openAudit, silentAudit } from "../../../sessions/open-audit.ts";
import { type EffectivePolicy, effectivePolicy } from "../policy/effective-policy.ts";
import { type CommandLogger, openCommandLogger } from "./command-logger.ts";
import { type StateFlags, stateDirOf } from "./state-dir.ts";
import type { Terminal } from "./terminal.ts";

/** The audit of one command under its policy. It first records what the flags changed in that policy. */
export async function commandAudit(
  { policy, changes }: Pick<EffectivePolicy, "policy" | "changes">,
  flags: StateFlags,
  terminal: Terminal,
  logger: CommandLogger,
  { hasTenants = false } = {},
): Promise<Audit> {
  const stateDir = stateDirOf(flags, terminal);
  logger.hide(policy.env);
  await guardAudit(policy, stateDir);
  if (logger.file !== undefined) await guardLog(policy, logger.file);
  const audit = openAudit(policy, { stateDir, logger, hasTenants });
  if (changes.length > 0) {
    audit.record({ type: "override.applied", by: "flags", policy: policyHash(policy), changes: [...changes] });
  }
  return audit;
}

/** For commands that have no policy flags: the policy of this directory decides whether anything is recorded. */
export async function lookingAudit(flags: StateFlags, terminal: Terminal): Promise<Audit> {
  const effective = await effectivePolicy({}, terminal).catch(() => undefined);
  if (!effective) return silentAudit; // an invalid policy does not keep users from their files
  const logger = openCommandLogger({}, terminal);
  return commandAudit(effective, flags, terminal, logger).catch(() => silentAudit);
}
