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
 * Opens the sessions on disk for one command and returns its exit code. Every cell is closed at the end, whatever
 * happens. A signal closes them at once, and its exit code is returned.
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
    // A signal makes the current step fail with some error. Report the signal, not that error.
    if (interruption.exitCode !== undefined) return interruption.exitCode;
    throw error;
  }
}
