import type { Policy } from "../../policy/schema.ts";
import { SessionManager } from "../../sessions/manager.ts";
import type { CommandContext } from "./command.ts";
import { commandAudit } from "./command-audit.ts";
import { type CommandLogger, openCommandLogger } from "./command-logger.ts";
import { effectivePolicy } from "./effective-policy.ts";
import { choiceLines, policyLines } from "./format-choice.ts";
import { Interruption } from "./interruption.ts";
import type { LogFlags } from "./log-options.ts";
import type { PolicyFlags } from "./policy-options.ts";
import { type StateFlags, stateDirOf } from "./state-dir.ts";

export type SessionFlags = PolicyFlags & StateFlags & LogFlags;

/**
 * Opens the sessions on disk for one command and answers with its exit code. Whatever happens, every cell is gone at the
 * end; a signal ends them at once, and then its code is the answer.
 */
export async function withSessions(
  flags: SessionFlags,
  context: CommandContext,
  use: (sessions: SessionManager, interruption: Interruption) => Promise<number>,
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
): Promise<SessionManager> {
  const effective = await effectivePolicy(flags, terminal);
  logger.explain(policyLines(effective));
  const policy = forNamedSessions(effective.policy);
  const sessions = await SessionManager.open({
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
