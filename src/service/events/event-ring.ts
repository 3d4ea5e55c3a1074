import type { AuditEvent } from "../../audit/event.ts";

/** An event that is kept for readers. */
export interface KeptEvent {
  /** its number among the events of its tenant: numbers over all tenants would reveal how active the others are */
  readonly own: number;
  /** its number among all events of the service */
  readonly all: number;
  readonly atMs: number;
  /** undefined: about the service */
  readonly namespace: string | undefined;
  readonly event: AuditEvent;
  /** of memory, roughly */
  readonly bytes: number;
}

/** Which number counts for a reader: of its tenant, or of the service. */
export type Numbering = "own" | "all";

const compactFrom = 256;

/** The last events of one tenant, and which of its sessions changed since. */
export class EventRing {
  #events: KeptEvent[] = [];
  #head = 0;
  #bytes = 0;
  /** the last event that was dropped */
  #dropped = { own: 0, all: 0 };
  /** when each session changed last, oldest first */
  readonly #changes = new Map<string, { readonly own: number; readonly all: number }>();
  /** the last event or change of this tenant */
  last = { own: 0, all: 0 };

  get bytes(): number {
    return this.#bytes;
  }

  get size(): number {
    return this.#events.length - this.#head;
  }

  add(event: KeptEvent): void {
    this.#events.push(event);
    this.#bytes += event.bytes;
    this.last = { own: event.own, all: event.all };
  }

  dropOldest(): void {
    const oldest = this.#events[this.#head];
    if (!oldest) return;
    this.#head++;
    this.#bytes -= oldest.bytes;
    this.#loseThrough(oldest);
    if (this.#head < compactFrom || this.#head * 2 < this.#events.length) return;
    this.#events = this.#events.slice(this.#head);
    this.#head = 0;
  }

  changed(session: string, at: { readonly own: number; readonly all: number }, maxSessions: number): void {
    this.#changes.delete(session);
    this.#changes.set(session, at);
    this.last = at;
    if (this.#changes.size <= maxSessions) return;
    const [[oldest, lost] = []] = this.#changes;
    if (oldest === undefined || lost === undefined) return;
    this.#changes.delete(oldest);
    this.#loseThrough(lost);
  }

  /** The sessions that changed after this event. */
  changedSince(after: number, numbering: Numbering): string[] {
    return [...this.#changes].filter(([, at]) => at[numbering] > after).map(([session]) => session);
  }

  /** Whether something after this event is lost. */
  hasLost(after: number, numbering: Numbering): boolean {
    return this.#dropped[numbering] > after;
  }

  /** The events after this one, oldest first. */
  after(after: number, numbering: Numbering, limit: number): KeptEvent[] {
    let [low, high] = [this.#head, this.#events.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#events[middle]?.[numbering] ?? 0) > after) high = middle;
      else low = middle + 1;
    }
    return this.#events.slice(low, low + limit);
  }

  #loseThrough({ own, all }: { readonly own: number; readonly all: number }): void {
    this.#dropped = { own: Math.max(own, this.#dropped.own), all: Math.max(all, this.#dropped.all) };
  }
}
