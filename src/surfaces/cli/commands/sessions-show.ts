import { CodecellError } from "../../../lib/errors.ts";
import type { SessionRecord } from "../../../sessions/storage/session-record.ts";
import type { StoredSessions } from "../../../sessions/storage/stored-sessions.ts";
import type { Command, CommandContext } from "../command.ts";
import { type SessionFacts, sessionFactsJson, sessionFactsText } from "../format/format-session.ts";
import { jsonText } from "../format/text/json-text.ts";
import { styleFor } from "../format/text/style.ts";
import { openStored, storedOptions } from "../sessions/open-stored.ts";
import { commonOptions, parseArguments } from "../shell/arguments.ts";
import { Interruption } from "../shell/interruption.ts";
import { needOperand } from "../shell/need-operand.ts";
import { parseCount } from "../shell/parse-count.ts";
import { sessionOperand } from "../shell/session-operand.ts";

const options = {
  history: { type: "string", value: "N", help: "Number of recent runs to show. Default: 10." },
  session: { type: "string", value: "ID", help: "The same as ID." },
  ...storedOptions,
  json: { type: "boolean", help: "Print one JSON object." },
  ...commonOptions,
} as const;

const maxFiles = 20;

export const sessionsShowCommand: Command = {
  name: "sessions show",
  summary: "Show a session: saved variables, what could not be saved, recent runs and files",
  usage: "codecell sessions show ID [options]",
  options,
  examples: [
    ["codecell sessions show work", "everything that is stored about it"],
    ["codecell sessions show work --history 100 --json", "more runs, for programs"],
    [
      "codecell sessions show ns-0123456789ab.work --database URL",
      "a session of the gateways, as `sessions ls` names it",
    ],
  ],
  run: runSessionsShow,
};

async function runSessionsShow(argv: readonly string[], { terminal }: CommandContext): Promise<number> {
  const { values, positionals } = parseArguments("sessions show", argv, options, 1);
  const id = needOperand("sessions show", "ID", sessionOperand("sessions show", values.session, positionals[0]));
  const runs = values.history === undefined ? 10 : parseCount("--history", values.history, { max: 100_000 });
  using interruption = new Interruption(terminal);
  await using stored = await openStored(values, terminal);
  const facts = await gather(stored, id, runs);
  const { stdout, env } = terminal;
  if (values.json) stdout.write(jsonText(sessionFactsJson(facts)));
  else stdout.write(sessionFactsText(facts, Date.now(), styleFor(stdout, env), stdout.columns));
  return interruption.exitCode ?? 0;
}

async function gather(stored: StoredSessions, id: string, runs: number): Promise<SessionFacts> {
  const { state } = await stored.find(id);
  const record = await stored.record(id); // throws if it is damaged
  const history = await stored.history(id, runs);
  return { state: state === "live" ? state : "saved", record, history, files: await filesOf(stored, record) };
}

async function filesOf(stored: StoredSessions, record: SessionRecord): Promise<SessionFacts["files"]> {
  try {
    await using files = await stored.files(record);
    return await files.list({ limit: maxFiles });
  } catch (error) {
    if (error instanceof CodecellError && error.code === "not_supported") return undefined;
    throw error;
  }
}
