import type { Audit } from "../../src/audit/audit.ts";
import { type AuditEvent, type AuditEventType, auditEventSchema } from "../../src/audit/event.ts";
import { CodecellError } from "../../src/lib/errors.ts";

/** An audit in memory. Every event is checked against the schema. */
export class FakeAudit implements Audit {
  readonly isDurable: boolean;
  readonly #pending: Promise<void>[] = [];
  readonly #places: AuditEvent[][] = [];
  /** events and waits, in order */
  readonly steps: string[] = [];
  isFull = false;
  isDisposed = false;

  constructor(options: { durable?: boolean } = {}) {
    this.isDurable = options.durable ?? false;
  }

  get events(): AuditEvent[] {
    return this.#places.flat();
  }

  record(event: AuditEvent): void {
    this.#places.push([auditEventSchema.parse(event)]);
    this.steps.push(event.type);
  }

  recordLater(events: Promise<readonly AuditEvent[]>): void {
    const place: AuditEvent[] = [];
    this.#places.push(place);
    this.#pending.push(
      events.then((known) => {
        for (const event of known) {
          place.push(auditEventSchema.parse(event));
          this.steps.push(event.type);
        }
      }),
    );
  }

  async settled(): Promise<void> {
    await Promise.all(this.#pending.splice(0));
    this.steps.push("settled");
    if (this.isFull) throw new CodecellError("audit_failed", "the audit cannot be written: no space left");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.isDisposed = true;
  }

  types(): AuditEventType[] {
    return this.events.map(({ type }) => type);
  }

  of<Type extends AuditEventType>(type: Type): Extract<AuditEvent, { type: Type }>[] {
    return this.events.filter((event): event is Extract<AuditEvent, { type: Type }> => event.type === type);
  }
}
