import { auditEventTypes } from "../../audit/event.ts";
import type { AuditFilter } from "../../audit/read.ts";
import { CodecellError } from "../../lib/errors.ts";
import { nearest } from "../../policy/suggest.ts";
import { duration } from "../../policy/units.ts";
import type { OptionTable } from "./arguments.ts";
import { parseCount } from "./parse-count.ts";

/** Options that choose events. */
export const filterOptions = {
  session: { type: "string", value: "ID", help: "Only events of this session." },
  run: { type: "string", value: "N", help: "Only events of the run with this number." },
  type: {
    type: "string",
    multiple: true,
    value: "TYPE",
    help: "Only this kind of event, such as run.ended, or run for all that begin so. Repeatable.",
  },
  since: { type: "string", value: "TIME", help: "Only events from then on: 2h (ago), or a date such as 2026-01-31." },
  until: { type: "string", value: "TIME", help: "Only events up to then." },
} as const satisfies OptionTable;

export interface FilterFlags {
  readonly session?: string | undefined;
  readonly run?: string | undefined;
  readonly type?: string[] | undefined;
  readonly since?: string | undefined;
  readonly until?: string | undefined;
}

export function auditFilter(flags: FilterFlags, nowMs = Date.now()): AuditFilter {
  return {
    session: flags.session,
    run: flags.run === undefined ? undefined : parseCount("--run", flags.run),
    types: flags.type?.map(parseType),
    sinceMs: flags.since === undefined ? undefined : parseTime("--since", flags.since, nowMs),
    untilMs: flags.until === undefined ? undefined : parseTime("--until", flags.until, nowMs),
  };
}

function parseType(text: string): string {
  const groups = [...new Set(auditEventTypes.map((type) => type.split(".")[0] ?? ""))];
  const known: readonly string[] = [...groups, ...auditEventTypes];
  if (known.includes(text)) return text;
  const near = nearest(text, known);
  const hint = near === undefined ? `one of ${known.join(", ")}` : `did you mean ${near}?`;
  throw new CodecellError("usage", `there is no event ${JSON.stringify(text)}`, { hint });
}

function parseTime(flag: string, text: string, nowMs: number): number {
  const ago = duration.safeParse(text);
  if (ago.success) return nowMs - ago.data;
  const atMs = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isFinite(atMs)) return atMs;
  throw new CodecellError("usage", `${flag} ${JSON.stringify(text)} is neither a duration nor a date`, {
    hint: "such as 2h, 2026-01-31 or 2026-01-31T12:00:00Z",
  });
}
