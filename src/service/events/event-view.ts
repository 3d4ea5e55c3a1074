import type { AuditEvent } from "../../audit/event.ts";
import { shownId } from "../../sessions/session-id.ts";
import { encodeTime } from "../wire/timestamp.ts";
import type { KeptEvent } from "./event-ring.ts";
import type { Audience } from "./event-rings.ts";
import type { LiveEvent } from "./live-event.ts";

/** An event as a client gets it. */
export interface SentEvent {
  readonly id: string;
  readonly type: string;
  readonly data: object;
}

/** The namespace of a session; undefined: it belongs to no tenant. */
export function namespaceOf(key: string | undefined): string | undefined {
  return /^(ns-[0-9a-f]{12})\./.exec(key ?? "")?.[1];
}

/** An event of the audit, with the ids that the reader knows. Only who sees all tenants gets namespaces. */
export function viewOfKept(id: string, { event, atMs, namespace }: KeptEvent, { numbering }: Audience): SentEvent {
  const key = sessionKeyOf(event);
  const head = { id, time: encodeTime(atMs), type: event.type, session_id: key === undefined ? null : shownId(key) };
  if (numbering === "all") return { id, type: event.type, data: { ...event, ...head, namespace: namespace ?? null } };
  return { id, type: event.type, data: { ...event, ...tenantIds(event), ...head } };
}

/** An event that is not kept: only its last value matters. */
export function viewOfLive(id: string, { type, session, atMs, fields }: LiveEvent, { numbering }: Audience): SentEvent {
  const head = { id, time: encodeTime(atMs), type, session_id: session === undefined ? null : shownId(session) };
  const whose = numbering === "all" ? { namespace: namespaceOf(session) ?? null } : {};
  return { id, type, data: { ...fields, ...head, ...whose } };
}

export function viewOfGap(id: string, atMs: number): SentEvent {
  return { id, type: "gap", data: { id, time: encodeTime(atMs), type: "gap", session_id: null } };
}

export function sessionKeyOf(event: AuditEvent): string | undefined {
  return "session" in event ? event.session : undefined;
}

/** The fields with a session id, with the id that the tenant uses. */
function tenantIds(event: AuditEvent): Record<string, string> {
  const ids: Record<string, string> = {};
  for (const name of ["session", "from"] as const) {
    const value = (event as Readonly<Record<string, unknown>>)[name];
    if (typeof value === "string") ids[name] = shownId(value);
  }
  return ids;
}
