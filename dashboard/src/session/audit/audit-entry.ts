import type { ServiceEvent } from "../../api/service-events.ts";

/** One event of the audit. */
export interface AuditEntry {
  readonly time: string;
  readonly type: string;
  readonly run?: number;
  readonly [field: string]: unknown;
}

/** The first parts of the types of events that name a session. A test compares it with the service. */
export const auditGroups = ["session", "run", "expression", "file", "egress", "function", "model", "tool", "override"];

const shownApart = new Set(["time", "type", "session", "session_id", "namespace", "id", "chain", "seq", "run"]);
const maxFields = 40;

/** Pure: the fields of an event that have no column of their own, as text. */
export function detailsOf(entry: AuditEntry): readonly { readonly name: string; readonly text: string }[] {
  return Object.entries(entry)
    .filter(([name, value]) => !shownApart.has(name) && !isNothing(value))
    .slice(0, maxFields)
    .map(([name, value]) => ({ name, text: textOf(value) }));
}

function isNothing(value: unknown): boolean {
  return value === undefined || value === null || (Array.isArray(value) && value.length === 0);
}

function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  return typeof value === "number" ? String(Math.round(value * 100) / 100) : JSON.stringify(value);
}

/** Pure: whether an event of the live stream is one of the audit, and not about the page itself. */
export function isAuditEvent({ type }: ServiceEvent): boolean {
  return auditGroups.includes(type.split(".")[0] ?? "") && !["session.changed", "session.moved"].includes(type);
}

const sameWithinMs = 2_000;

/** Pure: the page of the audit and what happened since, each event once. Both sources stamp their own time on the same event. */
export function withLive(page: readonly AuditEntry[], live: readonly AuditEntry[]): readonly AuditEntry[] {
  const known = new Map<string, number[]>();
  for (const entry of page) {
    const key = contentOf(entry);
    known.set(key, [...(known.get(key) ?? []), Date.parse(entry.time)]);
  }
  const isNew = (entry: AuditEntry) => {
    const times = known.get(contentOf(entry)) ?? [];
    const at = Date.parse(entry.time);
    const match = times.findIndex((time) => Math.abs(time - at) < sameWithinMs);
    if (match !== -1) times.splice(match, 1);
    return match === -1;
  };
  return [...page, ...live.filter(isNew)];
}

function contentOf(entry: AuditEntry): string {
  return JSON.stringify([entry.type, entry.run ?? null, detailsOf(entry)]);
}
