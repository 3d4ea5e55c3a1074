import { resolve } from "node:path";
import { openRuntimeDirectory } from "../../../lib/files/runtime-directory.ts";
import { askProcesses, type HoldingProcesses } from "../../../sessions/lifecycle/ask-processes.ts";
import type { StoredSession } from "../../../sessions/storage/stored-sessions.ts";
import type { Command, CommandContext } from "../command.ts";
import { processesJson, processesText, sessionIds } from "../format/format-processes.ts";
import { jsonText } from "../format/text/json-text.ts";
import { styleFor } from "../format/text/style.ts";
import { openStoredFiles } from "../sessions/open-stored.ts";
import { commonOptions, parseArguments } from "../shell/arguments.ts";
import { Interruption } from "../shell/interruption.ts";
import { stateDirOf, stateOptions } from "../shell/state-dir.ts";

const options = {
  all: { type: "boolean", short: "a", help: "Also list saved sessions, and processes that hold no session." },
  quiet: { type: "boolean", short: "q", help: "Print only the ids of the sessions." },
  ...stateOptions,
  "runtime-dir": {
    type: "string",
    value: "DIR",
    help: "Directory of lock files, if the processes were started with another one.",
  },
  json: { type: "boolean", help: "Print one JSON object." },
  ...commonOptions,
} as const;

export const psCommand: Command = {
  name: "ps",
  summary: "List the sessions that are live on this machine, and the processes that hold them",
  usage: "codecell ps [--all] [-q] [--json]",
  options,
  notes: [
    "Each process of this user that holds sessions is asked: `codecell serve`, `mcp`, `repl`, `run`, the background processes of `run --warm`, and programs that use the library. A process that has exited is never listed.",
    "STATE says what the session is doing and for how long. MEMORY is that of its cell, if the runner measures it. " +
      "PROCESS is the command and its process id.",
    "With --all, saved sessions are those of --state-dir; they have no process.",
  ],
  examples: [
    ["codecell ps", "what is live now"],
    ["codecell ps --all", "saved sessions and idle processes too"],
    ["codecell ps -q", "only ids, for scripts"],
    ["codecell ps --json", "everything, for programs"],
  ],
  run: runPs,
};

async function runPs(argv: readonly string[], { terminal }: CommandContext): Promise<number> {
  const { values } = parseArguments("ps", argv, options, 0);
  const named = values["runtime-dir"];
  using interruption = new Interruption(terminal);
  const runtimeDir = await openRuntimeDirectory(named === undefined ? undefined : resolve(terminal.cwd, named));
  const held = await askProcesses(runtimeDir);
  const saved = values.all ? await savedSessions(values, terminal, held) : [];
  const { stdout, stderr, env } = terminal;
  const view = { held, saved, all: values.all === true, nowMs: Date.now() };
  if (values.json) stdout.write(jsonText(processesJson(view)));
  else if (values.quiet) stdout.write(sessionIds(view).join(""));
  else stdout.write(processesText(view, styleFor(stdout, env), stdout.columns));
  if (held.silent > 0 && !values.json) {
    const processes = held.silent === 1 ? "1 process" : `${held.silent} processes`;
    stderr.write(`codecell: ${processes} did not answer: still starting, stopped, or of another version\n`);
  }
  return interruption.exitCode ?? 0;
}

/** Sessions on disk that no listed process holds. */
async function savedSessions(
  flags: { "state-dir"?: string },
  terminal: CommandContext["terminal"],
  { processes }: HoldingProcesses,
): Promise<StoredSession[]> {
  const stateDir = stateDirOf(flags, terminal);
  const here = processes.filter((one) => one.stateDir === stateDir);
  const live = new Set(here.flatMap(({ sessions }) => sessions.map(({ id, tenant }) => keyOf(id, tenant))));
  return (await (await openStoredFiles(flags, terminal)).list()).filter(({ id }) => !live.has(id));
}

function keyOf(id: string | undefined, tenant: string | undefined): string | undefined {
  return tenant === undefined ? id : `${tenant}.${id}`;
}
