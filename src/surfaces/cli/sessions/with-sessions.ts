import type { Codecell } from "../../../sessions/codecell.ts";
import type { CommandContext } from "../command.ts";
import type { PolicyFlags } from "../policy/policy-options.ts";
import { openCommandLogger } from "../shell/command-logger.ts";
import { Interruption } from "../shell/interruption.ts";
import type { LogFlags } from "../shell/log-options.ts";
import type { StateFlags } from "../shell/state-dir.ts";
import { openForCommand } from "./open-for-command.ts";

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
    await using sessions = await openForCommand(flags, context, logger, { persist: true });
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
