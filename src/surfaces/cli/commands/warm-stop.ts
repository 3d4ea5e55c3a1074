import { setTimeout as pause } from "node:timers/promises";
import { isHeld } from "../../../lib/files/liveness-lock.ts";
import { warmDirectory } from "../../../lib/files/warm-directory.ts";
import type { Command, CommandContext } from "../command.ts";
import { commonOptions, parseArguments } from "../shell/arguments.ts";
import { askHolder, holderSockets } from "../warm/holder-sockets.ts";

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
  const sockets = directory === undefined ? [] : await holderSockets(directory);
  const stopped = await Promise.all(sockets.map(stop));
  const count = stopped.filter(Boolean).length;
  terminal.stdout.write(`Stopped ${count} background ${count === 1 ? "process" : "processes"}.\n`);
  if (count === sockets.length) return 0;
  terminal.stderr.write(`codecell: ${sockets.length - count} did not stop; \`codecell warm status\` lists them\n`);
  return 1;
}

/** Waits until its cells are gone: then it releases its lock. */
async function stop(socket: string): Promise<boolean> {
  await askHolder(socket, "stop");
  const lock = socket.replace(/\.sock$/, ".lock");
  const until = performance.now() + stopWithinMs;
  while (await isHeld(lock)) {
    if (performance.now() > until) return false;
    await pause(20);
  }
  return true;
}
