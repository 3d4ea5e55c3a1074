import { config as configureZod } from "zod";
import type { CommandContext } from "../command.ts";
import { openPlots } from "../plots/open-plots.ts";
import type { PlotFlags } from "../plots/plot-options.ts";
import type { PolicyFlags } from "../policy/policy-options.ts";
import { openCommandLogger } from "../shell/command-logger.ts";
import { Interruption } from "../shell/interruption.ts";
import type { LogFlags } from "../shell/log-options.ts";
import type { StateFlags } from "../shell/state-dir.ts";
import type { HolderSettings } from "../warm/holder-settings.ts";
import { openForCommand } from "./open-for-command.ts";
import { type PrintFlags, type Program, runAndPrint } from "./run-and-print.ts";

/**
 * Runs a program in a cell of its own, which ends with the command. With `holder`, it then starts the background process that
 * keeps cells for the next calls.
 */
export async function runInFreshCell(
  program: Program,
  flags: PolicyFlags & StateFlags & LogFlags & PrintFlags & PlotFlags,
  context: CommandContext,
  holder?: HolderSettings,
): Promise<number> {
  // Otherwise zod compiles a parser for each schema, which pays off only in a process that parses more.
  if (context.ownsProcess) configureZod({ jitless: true });
  const { terminal } = context;
  using interruption = new Interruption(terminal);
  try {
    await using plots = await openPlots(flags, terminal);
    using logger = openCommandLogger(flags, terminal);
    await using codecell = await openForCommand(flags, context, logger, { persist: false, isForOneCell: true });
    interruption.signal.throwIfAborted();
    const end = () => void codecell.close().catch(() => {});
    interruption.signal.addEventListener("abort", end, { once: true });
    const session = await codecell.session();
    const exitCode = await runAndPrint(session, program, flags, { terminal, interruption, plots });
    // After the run: the program does not compete with it for the processor.
    if (holder) await (await import("../warm/start-holder.ts")).startHolder(holder, codecell.policy, terminal);
    return exitCode;
  } catch (error) {
    // A signal during the start makes it fail with some error. Report the signal, not that error.
    if (interruption.exitCode !== undefined) return interruption.exitCode;
    throw error;
  }
}
