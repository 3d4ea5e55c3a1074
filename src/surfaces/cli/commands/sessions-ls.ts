import { encodeStoredSession } from "../../../service/wire/session.ts";
import type { Command, CommandContext } from "../command.ts";
import { sessionsText } from "../format/format-sessions.ts";
import { jsonText } from "../format/text/json-text.ts";
import { styleFor } from "../format/text/style.ts";
import { openStored } from "../sessions/open-stored.ts";
import { commonOptions, parseArguments } from "../shell/arguments.ts";
import { Interruption } from "../shell/interruption.ts";
import { stateOptions } from "../shell/state-dir.ts";

const options = {
  ...stateOptions,
  json: { type: "boolean", help: "Print one JSON object." },
  ...commonOptions,
} as const;

export const sessionsLsCommand: Command = {
  name: "sessions ls",
  summary: "List saved and live sessions, most recently used first",
  usage: "codecell sessions ls [options]",
  options,
  notes: [
    "STATE is saved, live (open in a process right now) or damaged (its record is unreadable; `sessions rm` removes it).",
  ],
  examples: [
    ["codecell sessions ls", "every session of this user"],
    ["codecell sessions ls --json", "the same, for programs"],
  ],
  run: runSessionsLs,
};

async function runSessionsLs(argv: readonly string[], { terminal }: CommandContext): Promise<number> {
  const { values } = parseArguments("sessions ls", argv, options, 0);
  using interruption = new Interruption(terminal);
  const sessions = await (await openStored(values, terminal)).list();
  const { stdout, env } = terminal;
  if (values.json) stdout.write(jsonText({ sessions: sessions.map(encodeStoredSession) }));
  else stdout.write(sessionsText(sessions, Date.now(), styleFor(stdout, env), stdout.columns));
  return interruption.exitCode ?? 0;
}
