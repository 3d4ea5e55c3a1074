import { warmDirectory } from "../../../lib/files/warm-directory.ts";
import type { Command, CommandContext } from "../command.ts";
import { jsonText } from "../format/text/json-text.ts";
import { tableLines } from "../format/text/table.ts";
import { commonOptions, parseArguments } from "../shell/arguments.ts";
import { askHolder, heldLocks, socketOf } from "../warm/ask-holder.ts";
import type { HolderFacts } from "../warm/holder-settings.ts";

const options = { json: { type: "boolean", help: "Print one JSON object." }, ...commonOptions } as const;

export const warmStatusCommand: Command = {
  name: "warm status",
  summary: "List the background processes of `codecell run --warm`",
  usage: "codecell warm status [--json]",
  options,
  notes: ["READY counts the cells that wait for a program. IDLE is the time since the last call."],
  examples: [
    ["codecell warm status", "every process of this user"],
    ["codecell warm status --json", "the same, for programs"],
  ],
  run: runWarmStatus,
};

async function runWarmStatus(argv: readonly string[], { terminal }: CommandContext): Promise<number> {
  const { values } = parseArguments("warm status", argv, options, 0);
  const directory = warmDirectory(process.getuid?.() ?? 0, terminal.env.XDG_RUNTIME_DIR);
  const locks = directory === undefined ? [] : await heldLocks(directory);
  const replies = await Promise.all(locks.map((lock) => askHolder(socketOf(lock), "facts")));
  const holders = replies.filter((facts) => facts !== undefined).sort((a, b) => a.pid - b.pid);
  if (values.json) terminal.stdout.write(jsonText({ processes: holders }));
  else terminal.stdout.write(statusText(holders, terminal.stdout.columns));
  return 0;
}

function statusText(holders: readonly HolderFacts[], width: number): string {
  if (holders.length === 0) return "No background process keeps warm cells.\n";
  const rows = holders.map(({ pid, runner, ready, running, runs, idle_seconds }) =>
    [pid, runner, ready, running, runs, `${idle_seconds} s`].map(String),
  );
  return `${tableLines(["PID", "RUNNER", "READY", "RUNNING", "RUNS", "IDLE"], rows, width).join("\n")}\n`;
}
