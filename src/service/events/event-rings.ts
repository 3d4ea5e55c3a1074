import type { AuditEvent } from "../../audit/event.ts";
import { EventRing, type KeptEvent } from "./event-ring.ts";

/** How much is kept for readers that come back. */
export interface EventLimits {
  readonly eventsPerTenant: number;
  readonly bytesPerTenant: number;
  /** of all tenants together */
  readonly bytes: number;
  /** sessions per tenant whose changes are remembered */
  readonly changesPerTenant: number;
}

export const defaultEventLimits: EventLimits = {
  eventsPerTenant: 5_000,
  bytesPerTenant: 4 * 1024 * 1024,
  bytes: 64 * 1024 * 1024,
  changesPerTenant: 1_000,
};

/** Whose events a reader gets. With `namespaces`, of the whole service, or of one tenant in it. */
export type Audience =
  | { readonly numbering: "own"; readonly namespace: string }
  | { readonly numbering: "all"; readonly namespace?: string | undefined };

/** Estimated memory of an event besides its texts. */
const eventWeight = 500;

/**
 * A ring of events per tenant. The attack: one tenant runs so much that the events of others are dropped. So the largest ring
 * drops first.
 */
export class EventRings {
  readonly #limits: EventLimits;
  readonly #rings = new Map<string | undefined, EventRing>();
  #count = 0;
  #bytes = 0;

  constructor(limits: EventLimits) {
    this.#limits = limits;
  }

  /** The memory of all events, roughly. */
  get bytes(): number {
    return this.#bytes;
  }

  add(
    namespace: string | undefined,
    event: AuditEvent,
    { atMs, textBytes }: { atMs: number; textBytes: number },
  ): void {
    const ring = this.#ringOf(namespace);
    const kept = { own: ring.last.own + 1, all: ++this.#count, atMs, namespace, event, bytes: eventWeight + textBytes };
    ring.add(kept);
    this.#bytes += kept.bytes;
    while (ring.size > this.#limits.eventsPerTenant || ring.bytes > this.#limits.bytesPerTenant) this.#drop(ring);
    while (this.#bytes > this.#limits.bytes) this.#drop(this.#largest());
  }

  /** Remembers that a session changed. The change has a number, like an event. */
  changed(namespace: string | undefined, session: string): void {
    const ring = this.#ringOf(namespace);
    const at = { own: ring.last.own + 1, all: ++this.#count };
    ring.changed(session, at, this.#limits.changesPerTenant);
  }

  /** The number of the last event or change that this audience could see. */
  last(audience: Audience): number {
    return audience.numbering === "all" ? this.#count : this.#ringOf(audience.namespace).last.own;
  }

  /** Whether a reader that has everything up to `after` has missed something that is not kept. */
  hasLost(audience: Audience, after: number): boolean {
    return after > this.last(audience) || this.#seen(audience).some((ring) => ring.hasLost(after, audience.numbering));
  }

  changedSince(audience: Audience, after: number): string[] {
    return this.#seen(audience).flatMap((ring) => ring.changedSince(after, audience.numbering));
  }

  /** The next events after a number, oldest first, at most `limit`. */
  after(audience: Audience, after: number, limit: number): KeptEvent[] {
    const { numbering } = audience;
    const found = this.#seen(audience).flatMap((ring) =>
      ring.last[numbering] > after ? ring.after(after, numbering, limit) : [],
    );
    return found.sort((a, b) => a.all - b.all).slice(0, limit);
  }

  #seen({ numbering, namespace }: Audience): EventRing[] {
    if (numbering === "own" || namespace !== undefined) return [this.#ringOf(namespace)];
    return [...this.#rings.values()];
  }

  #ringOf(namespace: string | undefined): EventRing {
    const known = this.#rings.get(namespace);
    if (known) return known;
    const ring = new EventRing();
    this.#rings.set(namespace, ring);
    return ring;
  }

  #largest(): EventRing {
    return [...this.#rings.values()].reduce((largest, ring) => (ring.bytes > largest.bytes ? ring : largest));
  }

  #drop(ring: EventRing): void {
    const before = ring.bytes;
    ring.dropOldest();
    this.#bytes -= before - ring.bytes;
  }
}
