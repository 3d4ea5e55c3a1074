import {
  type AuditEntry,
  auditDirectory,
  auditPlaces,
  followAudit,
  lastEntries,
} from "../../../service/audit/audit-files.ts";
import type { Command, CommandContext } from "../command.ts";
import { entryJson, entryLine } from "../format/format-audit.ts";
import { jsonText } from "../format/text/json-text.ts";
import { styleFor } from "../format/text/style.ts";
import { auditFilter, filterOptions } from "../sessions/audit-options.ts";
import { commonOptions, parseArguments } from "../shell/arguments.ts";
import { Interruption } from "../shell/interruption.ts";
import { parseCount } from "../shell/parse-count.ts";
import { sessionOperand } from "../shell/session-operand.ts";
import { stateDirOf, stateOptions } from "../shell/state-dir.ts";

const options = {
  lines: { type: "string", short: "n", value: "N", help: "Number of events to show. Default: 20." },
  follow: { type: "boolean", short: "f", help: "Keep printing new events until Ctrl-C." },
  ...filterOptions,
  ...stateOptions,
  json: { type: "boolean", help: "Print one JSON object per line." },
  ...commonOptions,
} as const;

export const auditTailCommand: Command = {
  name: "audit tail",
  summary: "Show the latest events of the audit",
  usage: "codecell audit tail [SESSION] [-n N] [--follow] [options]",
  options,
  notes: [
    "Times are in UTC. Control characters in names that programs chose are escaped; --json prints those names unchanged.",
  ],
  examples: [
    ["codecell audit tail", "the latest 20 events of all sessions"],
    ["codecell audit tail -f --type run", "every run, as it starts and ends"],
    ["codecell audit tail --outcome timeout --outcome out_of_memory --since 24h", "what went wrong since yesterday"],
    ["codecell audit tail -n 100 --session work --since 2h --json", "for programs"],
  ],
  run: runAuditTail,
};

async function runAuditTail(argv: readonly string[], { terminal }: CommandContext): Promise<number> {
  const { values, positionals } = parseArguments("audit tail", argv, options, 1);
  const session = sessionOperand("audit tail", values.session, positionals[0]);
  const count = values.lines === undefined ? 20 : parseCount("--lines", values.lines, { max: 1_000_000 });
  const filter = auditFilter({ ...values, session });
  const dir = auditDirectory(stateDirOf(values, terminal));
  const { stdout, env } = terminal;
  const style = styleFor(stdout, env);
  const print = (entry: AuditEntry) => stdout.write(values.json ? jsonText(entryJson(entry)) : entryLine(entry, style));
  using interruption = new Interruption(terminal);
  // Read the positions before the entries: an event that arrives in between is in both lists, and is printed once.
  const places = await auditPlaces(dir);
  const entries = await lastEntries(dir, count, filter);
  const keyOf = ({ chain, seq, time }: AuditEntry) => `${chain}:${seq}:${time}`;
  const printed = new Set(entries.map(keyOf));
  for (const entry of entries) print(entry);
  if (values.follow) {
    for await (const entry of followAudit(dir, places, filter, interruption.signal)) {
      if (!printed.has(keyOf(entry))) print(entry);
    }
    return interruption.exitCode ?? 0;
  }
  if (entries.length === 0 && !values.json) stdout.write("no events\n");
  return interruption.exitCode ?? 0;
}
