import { type AuditEvent, auditEventSchema } from "./event.ts";

/** The JSON of a line whose hash matches. The attack: a line with invalid JSON that makes readers and writers throw. */
export function parsedEvent(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

/** The event, if this version knows it. */
export function eventIn(json: string): AuditEvent | undefined {
  return auditEventSchema.safeParse(parsedEvent(json)).data;
}
