import { CodecellError } from "../../../lib/errors.ts";
import { nearest } from "../../../policy/file/suggest.ts";
import { duration } from "../../../policy/units.ts";
import { type AuditFilter, auditEventTypes } from "../../../service/audit/audit-files.ts";
import type { OptionTable } from "../shell/arguments.ts";
import { parseCount } from "../shell/parse-count.ts";
import type { RunStatus } from "./session-types.ts";

/** Options that choose events. */
export const filterOptions = {
  session: { type: "string", value: "ID", help: "Only events of this session." },
  run: { type: "string", value: "N", help: "Only events of the run with this number." },
  type: {
    type: "string",
    multiple: true,
    value: "TYPE",
    help: "Only events of this type, such as run.ended; run matches every run.* event. Repeatable.",
  },
  outcome: {
    type: "string",
    multiple: true,
    value: "STATUS",
    help: "Only run.ended events with this status: ok, error, timeout, failed and so on. Repeatable.",
  },
  since: {
    type: "string",
    value: "TIME",
    help: "Only events since this time: 2h (ago), or a UTC date such as 2026-01-31 or 2026-01-31T12:00.",
  },
  until: { type: "string", value: "TIME", help: "Only events up to this time, in the same format." },
} as const satisfies OptionTable;

export interface FilterFlags {
  readonly session?: string | undefined;
  readonly run?: string | undefined;
  readonly type?: string[] | undefined;
  readonly outcome?: string[] | undefined;
  readonly since?: string | undefined;
  readonly until?: string | undefined;
}

export function auditFilter(flags: FilterFlags, nowMs = Date.now()): AuditFilter {
  return {
    session: flags.session,
    run: flags.run === undefined ? undefined : parseCount("--run", flags.run),
    types: flags.type?.map(parseType),
    outcomes: flags.outcome?.map(parseOutcome),
    sinceMs: flags.since === undefined ? undefined : parseTime("--since", flags.since, nowMs),
    untilMs: flags.until === undefined ? undefined : parseTime("--until", flags.until, nowMs),
  };
}

function parseType(text: string): string {
  const groups = [...new Set(auditEventTypes.map((type) => type.split(".")[0] ?? ""))];
  return oneOf("event", text, [...groups, ...auditEventTypes]);
}

/** Every outcome of a run. Adding one elsewhere is a compile error here. */
const runOutcomes: Readonly<Record<RunStatus | "failed", true>> = {
  ...{ ok: true, error: true, timeout: true, interrupted: true, out_of_memory: true, output_limit: true },
  ...{ crashed: true, cancelled: true, failed: true },
};

function parseOutcome(text: string): string {
  return oneOf("outcome", text, Object.keys(runOutcomes));
}

function oneOf(what: string, text: string, known: readonly string[]): string {
  if (known.includes(text)) return text;
  const near = nearest(text, known);
  const hint = near === undefined ? `use one of: ${known.join(", ")}` : `did you mean ${near}?`;
  throw new CodecellError("usage", `unknown ${what} ${JSON.stringify(text)}`, { hint });
}

const written = /^(\d{4}-\d\d-\d\d)(T\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?)?(Z|[+-]\d\d:\d\d)?$/;

function parseTime(flag: string, text: string, nowMs: number): number {
  const ago = duration().safeParse(text);
  if (ago.success) return nowMs - ago.data;
  const [, date, time = "T00:00", zone = "Z"] = written.exec(text) ?? [];
  // Without a zone it is UTC, as in the audit, not the time zone of this machine.
  const atMs = date === undefined ? Number.NaN : Date.parse(`${date}${time}${zone}`);
  if (Number.isFinite(atMs)) return atMs;
  throw new CodecellError("usage", `${flag} ${JSON.stringify(text)} is neither a duration nor a date`, {
    hint: "use a value such as 2h, 2026-01-31 or 2026-01-31T12:00:00+02:00; without a zone it is UTC",
  });
}
