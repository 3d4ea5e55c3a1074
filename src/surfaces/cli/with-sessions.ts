import { silentLogger } from "../../lib/logger.ts";
import type { Policy } from "../../policy/schema.ts";
import { SessionManager } from "../../sessions/manager.ts";
import type { CommandContext } from "./command.ts";
import { commandAudit } from "./command-audit.ts";
import { effectivePolicy } from "./effective-policy.ts";
import { choiceLines, policyLines } from "./format-choice.ts";
import { Interruption } from "./interruption.ts";
import type { PolicyFlags } from "./policy-options.ts";
import { progressLogger } from "./progress-logger.ts";
import { safeText } from "./safe-text.ts";
import { type StateFlags, stateDirOf } from "./state-dir.ts";

export type SessionFlags = PolicyFlags & StateFlags & { readonly verbose?: boolean | undefined };

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
    await using sessions = await openSessions(flags, context);
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

async function openSessions(flags: SessionFlags, { terminal, runners }: CommandContext): Promise<SessionManager> {
  const verbose = flags.verbose === true;
  const logger = progressLogger(terminal.stderr, verbose);
  const say = (lines: string[]) => {
    if (verbose) for (const line of lines) terminal.stderr.write(`codecell: ${safeText(line)}\n`);
  };
  const effective = await effectivePolicy(flags, terminal);
  say(policyLines(effective));
  const policy = forNamedSessions(effective.policy);
  const sessions = await SessionManager.open({
    policy,
    audit: await commandAudit({ ...effective, policy }, flags, terminal, logger),
    runners: runners(logger),
    stateDir: stateDirOf(flags, terminal),
    logger: verbose ? logger : silentLogger, // commands tell themselves what could not be saved
  });
  say(choiceLines(sessions.codecell.choice));
  return sessions;
}

/** Whoever names a session at the command line asks for it to be kept; a cell kept ready would serve nobody. */
function forNamedSessions(policy: Policy): Policy {
  return { ...policy, session: { ...policy.session, persist: true, pool: 0 } };
}
