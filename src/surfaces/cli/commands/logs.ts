import { CodecellError } from "../../../lib/errors.ts";
import { auditDirectory } from "../../../service/audit/audit-files.ts";
import type { Command, CommandContext } from "../command.ts";
import { endedText, runJson, runText, startedText } from "../format/format-logs.ts";
import { jsonText } from "../format/text/json-text.ts";
import { styleFor } from "../format/text/style.ts";
import type { LoggedRun } from "../logs/logged-run.ts";
import { followLogs, type LogSource, logPlaces, readLogs } from "../logs/read-logs.ts";
import { auditFilter, filterOptions } from "../sessions/audit-options.ts";
import { openStored, storedOptions, storedUrlOf } from "../sessions/open-stored.ts";
import { commonOptions, parseArguments } from "../shell/arguments.ts";
import { Interruption } from "../shell/interruption.ts";
import { parseCount } from "../shell/parse-count.ts";
import { sessionOperand } from "../shell/session-operand.ts";
import { stateDirOf } from "../shell/state-dir.ts";

const defaultTail = 20;

const options = {
  follow: { type: "boolean", short: "f", help: "Keep printing until Ctrl-C." },
  tail: { type: "string", short: "n", value: "N|all", help: `Number of runs to show. Default: ${defaultTail}.` },
  since: filterOptions.since,
  full: { type: "boolean", help: "Show all lines of the code." },
  session: { type: "string", value: "ID", help: "The same as SESSION." },
  ...storedOptions,
  json: { type: "boolean", help: "Print one JSON object per line, one for each run." },
  ...commonOptions,
} as const;

export const logsCommand: Command = {
  name: "logs",
  summary: "Show what ran in a session: code, output and how each run ended",
  usage: "codecell logs [SESSION] [-f] [--since TIME] [--tail N] [--json]",
  options,
  notes: [
    "Without SESSION, the runs of all sessions. Starts no cell.",
    "The start and the end of a run come from the audit, code and output from the history of a session that persists. What a run printed in another session is not kept, only how much it was.",
    "With a database, code and output of SESSION come from there, for runs of any gateway. The audit, and with it runs of sessions that do not persist, is that of this machine.",
    "With --json and --follow, a run is printed when it has ended. Times are in UTC.",
  ],
  examples: [
    ["codecell logs work", "the last runs of a session"],
    ["codecell logs -f", "everything that runs from now on"],
    ["codecell logs work --since 2h --tail all", "every run of the last two hours"],
    ["codecell logs work --json", "for programs"],
  ],
  run: runLogs,
};

async function runLogs(argv: readonly string[], { terminal }: CommandContext): Promise<number> {
  const { values, positionals } = parseArguments("logs", argv, options, 1);
  const session = sessionOperand("logs", values.session, positionals[0]);
  const tail = parseTail(values.tail);
  const { sinceMs } = auditFilter({ since: values.since });
  const { stdout, env } = terminal;
  const format = { style: styleFor(stdout, env), isFull: values.full === true };
  using interruption = new Interruption(terminal);
  const auditDir = auditDirectory(stateDirOf(values, terminal));
  await using stored = await openStored(values, terminal);
  const source: LogSource = { auditDir, stored, session, sinceMs, tail };
  const places = await logPlaces(auditDir);
  const runs = await readLogs(source);
  if (!values.follow) {
    for (const run of runs) stdout.write(values.json ? jsonText(runJson(run)) : runText(run, format));
    if (runs.length === 0 && tail !== 0) await assertKnown(source, values.json === true, terminal);
    return interruption.exitCode ?? 0;
  }
  if ((await storedUrlOf(values, terminal)) !== undefined) {
    terminal.stderr.write(
      "codecell: --follow shows the runs of this machine. Of other gateways, GET /v1/events?session=ID tells.\n",
    );
  }
  for (const run of runs) {
    if (!values.json) stdout.write(run.end ? runText(run, format) : startedText(run, format));
    else if (run.end) stdout.write(jsonText(runJson(run)));
  }
  const show = (kind: "started" | "ended", run: LoggedRun) => {
    if (values.json) return kind === "ended" ? jsonText(runJson(run)) : "";
    return kind === "started" ? startedText(run, format) : endedText(run, format);
  };
  for await (const { kind, run } of followLogs(source, places, runs, interruption.signal))
    stdout.write(show(kind, run));
  return interruption.exitCode ?? 0;
}

/** A session without runs is no error, a session that nobody knows is one. */
async function assertKnown(
  { session, sinceMs, stored }: LogSource,
  isJson: boolean,
  { stdout }: CommandContext["terminal"],
): Promise<void> {
  if (session !== undefined && sinceMs === undefined) await stored.find(session);
  if (!isJson) stdout.write("no runs\n");
}

function parseTail(text: string | undefined): number | undefined {
  if (text === "all") return undefined;
  if (text === undefined) return defaultTail;
  if (/^\d+$/.test(text)) return parseCount("--tail", text, { max: 100_000 });
  throw new CodecellError("usage", `--tail ${JSON.stringify(text)} is not a number`, { hint: "use a number, or all" });
}
