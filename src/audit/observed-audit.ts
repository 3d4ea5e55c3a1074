import type { Audit } from "./audit.ts";
import type { AuditEvent } from "./event.ts";

/** Sees an event when it is known. `atMs` is when it was recorded, by the wall clock. It must not throw. */
export type AuditObserver = (event: AuditEvent, atMs: number) => void;

/** Events of one session that wait for one that is not known yet. */
interface Slot {
  readonly atMs: number;
  events: readonly AuditEvent[] | undefined;
}

/** An audit whose events others can see as they are recorded. Events of one session keep their order. */
export class ObservedAudit implements Audit {
  readonly #inner: Audit;
  readonly #now: () => number;
  readonly #observers = new Set<AuditObserver>();
  readonly #waiting = new Map<string, Slot[]>();

  constructor(inner: Audit, now: () => number = Date.now) {
    this.#inner = inner;
    this.#now = now;
  }

  get isDurable(): boolean {
    return this.#inner.isDurable;
  }

  observe(observer: AuditObserver): Disposable {
    this.#observers.add(observer);
    return { [Symbol.dispose]: () => void this.#observers.delete(observer) };
  }

  record(event: AuditEvent): void {
    this.#inner.record(event);
    if (this.#observers.size === 0) return;
    const atMs = this.#now();
    const waiting = this.#waiting.get(sessionOf(event));
    if (waiting) waiting.push({ atMs, events: [event] });
    else this.#tell(event, atMs);
  }

  recordLater(events: Promise<readonly AuditEvent[]>, session?: string): void {
    this.#inner.recordLater(events, session);
    if (this.#observers.size === 0) return;
    const slot: Slot = { atMs: this.#now(), events: undefined };
    const key = session ?? "";
    const waiting = this.#waiting.get(key) ?? [];
    waiting.push(slot);
    this.#waiting.set(key, waiting);
    const fill = (known: readonly AuditEvent[]) => {
      slot.events = known;
      this.#tellKnown(key, waiting);
    };
    events.then(fill, () => fill([]));
  }

  settled(session?: string): Promise<void> {
    return this.#inner.settled(session);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#inner[Symbol.asyncDispose]();
  }

  #tellKnown(session: string, waiting: Slot[]): void {
    for (let first = waiting[0]; first?.events !== undefined; first = waiting[0]) {
      waiting.shift();
      for (const event of first.events) this.#tell(event, first.atMs);
    }
    if (waiting.length === 0) this.#waiting.delete(session);
  }

  #tell(event: AuditEvent, atMs: number): void {
    for (const observer of this.#observers) observer(event, atMs);
  }
}

function sessionOf(event: AuditEvent): string {
  return ("session" in event ? event.session : undefined) ?? "";
}
