import { type AuditEvent, auditEventSchema } from "./event.ts";

/** The JSON of a line whose hash fits. The attack: one that is none, made up to stop whoever reads or goes on with the chain. */
export function parsedEvent(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

/** The event, where it is one of this version. */
export function eventIn(json: string): AuditEvent | undefined {
  return auditEventSchema.safeParse(parsedEvent(json)).data;
}
