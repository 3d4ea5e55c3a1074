import type { Policy } from "../../../policy/schema.ts";
import { Codecell } from "../../../sessions/codecell.ts";
import type { CommandContext } from "../command.ts";
import { choiceLines, policyLines } from "../format/format-choice.ts";
import { effectivePolicy } from "../policy/effective-policy.ts";
import type { PolicyFlags } from "../policy/policy-options.ts";
import { commandAudit } from "../shell/command-audit.ts";
import { type CommandLogger, openCommandLogger } from "../shell/command-logger.ts";
import { Interruption } from "../shell/interruption.ts";
import type { LogFlags } from "../shell/log-options.ts";
import { type StateFlags, stateDirOf } from "../shell/state-dir.ts";

export type SessionFlags = PolicyFlags & StateFlags & LogFlags;

/**
 * Opens the sessions on disk for one command and answers with its exit code. Whatever happens, every cell is gone at the
 * end; a signal ends them at once, and then its code is the answer.
 */
export async function withSessions(
  flags: SessionFlags,
  context: CommandContext,
  use: (sessions: Codecell, interruption: Interruption) => Promise<number>,
): Promise<number> {
  using interruption = new Interruption(context.terminal);
  try {
    using logger = openCommandLogger(flags, context.terminal);
    await using sessions = await openSessions(flags, context, logger);
    interruption.signal.throwIfAborted();
    const end = () => void sessions[Symbol.asyncDispose]().catch(() => {});
    interruption.signal.addEventListener("abort", end, { once: true });
    const code = await use(sessions, interruption);
    return interruption.exitCode ?? code;
  } catch (error) {
    // A signal ends what goes on with whatever error that causes; the signal is what the caller asked for.
    if (interruption.exitCode !== undefined) return interruption.exitCode;
    throw error;
  }
}

async function openSessions(
  flags: SessionFlags,
  { terminal, runners }: CommandContext,
  logger: CommandLogger,
): Promise<Codecell> {
  const effective = await effectivePolicy(flags, terminal);
  logger.explain(policyLines(effective));
  const policy = forNamedSessions(effective.policy);
  const sessions = await Codecell.open({
    policy,
    audit: await commandAudit({ ...effective, policy }, flags, terminal, logger),
    runners: runners(logger),
    stateDir: stateDirOf(flags, terminal),
    logger: logger.background, // commands tell themselves what could not be saved
  });
  logger.explain(choiceLines(sessions.codecell.choice));
  return sessions;
}

/** Whoever names a session at the command line asks for it to be kept; a cell kept ready would serve nobody. */
function forNamedSessions(policy: Policy): Policy {
  return { ...policy, session: { ...policy.session, persist: true, pool: 0 } };
}
