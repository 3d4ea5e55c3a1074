import { setTimeout as pause } from "node:timers/promises";
import { isHeld } from "../../../lib/files/liveness-lock.ts";
import { warmDirectory } from "../../../lib/files/warm-directory.ts";
import type { Command, CommandContext } from "../command.ts";
import { commonOptions, parseArguments } from "../shell/arguments.ts";
import { askHolder, heldLocks, socketOf } from "../warm/ask-holder.ts";

const options = commonOptions;
const stopWithinMs = 20_000;

export const warmStopCommand: Command = {
  name: "warm stop",
  summary: "Stop the background processes of `codecell run --warm`",
  usage: "codecell warm stop",
  options,
  notes: ["Programs that are running in their cells are cancelled (exit code 143)."],
  examples: [["codecell warm stop", "stop every process of this user"]],
  run: runWarmStop,
};

async function runWarmStop(argv: readonly string[], { terminal }: CommandContext): Promise<number> {
  parseArguments("warm stop", argv, options, 0);
  const directory = warmDirectory(process.getuid?.() ?? 0, terminal.env.XDG_RUNTIME_DIR);
  const locks = directory === undefined ? [] : await heldLocks(directory);
  const stopped = await Promise.all(locks.map(stop));
  const count = stopped.filter(Boolean).length;
  terminal.stdout.write(`Stopped ${count} background ${count === 1 ? "process" : "processes"}.\n`);
  if (count === locks.length) return 0;
  terminal.stderr.write(`codecell: ${locks.length - count} did not stop; \`codecell warm status\` lists them\n`);
  return 1;
}

/**
 * Waits for the exit of the process: it still writes to its directory when its cells are gone and its lock is released. One
 * that is starting is asked again until it listens.
 */
async function stop(lock: string): Promise<boolean> {
  const until = performance.now() + stopWithinMs;
  while (await isHeld(lock)) {
    if (performance.now() > until) return false;
    await askHolder(socketOf(lock), "stop", stopWithinMs);
    await pause(20);
  }
  return true;
}
