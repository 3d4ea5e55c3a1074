import { encodeStoredSession } from "../../../service/wire/sessions/session.ts";
import type { Command, CommandContext } from "../command.ts";
import { sessionsText } from "../format/format-sessions.ts";
import { jsonText } from "../format/text/json-text.ts";
import { styleFor } from "../format/text/style.ts";
import { listShared } from "../sessions/list-shared.ts";
import { openStoredFiles, storedOptions, storedUrlOf } from "../sessions/open-stored.ts";
import { commonOptions, parseArguments } from "../shell/arguments.ts";
import { Interruption } from "../shell/interruption.ts";

const options = {
  ...storedOptions,
  json: { type: "boolean", help: "Print one JSON object." },
  ...commonOptions,
} as const;

export const sessionsLsCommand: Command = {
  name: "sessions ls",
  summary: "List saved and live sessions, most recently used first",
  usage: "codecell sessions ls [options]",
  options,
  notes: [
    "With a database, the sessions of every gateway are listed. `sessions save`, `sessions restore`, `run` and `repl` use the files of this machine.",
    "STATE is saved, live (open in a process right now) or damaged (its record is unreadable; `sessions rm` removes it).",
  ],
  examples: [
    ["codecell sessions ls", "every session of this user"],
    ["codecell sessions ls --json", "the same, for programs"],
    ["codecell sessions ls --database postgres://codecell@db/codecell?sslmode=verify-full", "those of every gateway"],
  ],
  run: runSessionsLs,
};

async function runSessionsLs(argv: readonly string[], { terminal }: CommandContext): Promise<number> {
  const { values } = parseArguments("sessions ls", argv, options, 0);
  using interruption = new Interruption(terminal);
  const url = await storedUrlOf(values, terminal);
  const sessions = url === undefined ? await (await openStoredFiles(values, terminal)).list() : await listShared(url);
  const { stdout, env } = terminal;
  if (values.json) stdout.write(jsonText({ sessions: sessions.map(encodeStoredSession) }));
  else stdout.write(sessionsText(sessions, Date.now(), styleFor(stdout, env), stdout.columns));
  // Whoever looks for a session of `codecell run` finds it missing from this list.
  if (!values.json && url !== undefined && values.database === undefined) {
    terminal.stderr.write(
      "codecell: these are the sessions of the database. --state-dir DIR lists those in files, such as those of `codecell run --session`.\n",
    );
  }
  return interruption.exitCode ?? 0;
}
