import { shownId } from "../../sessions/session-id.ts";
import type { KeptEvent } from "./event-ring.ts";
import type { Audience, EventRings } from "./event-rings.ts";
import { namespaceOf, type SentEvent, sessionKeyOf, viewOfGap, viewOfKept, viewOfLive } from "./event-view.ts";
import type { LiveEvent } from "./live-event.ts";

export interface ReaderOptions {
  readonly audience: Audience;
  /** only events of this session; an id as the reader knows it */
  readonly session?: string | undefined;
  /** whether it gets statistics of the service */
  readonly hasMetrics: boolean;
}

export interface ReaderParts extends ReaderOptions {
  readonly rings: EventRings;
  readonly epoch: string;
  /** the last event that the reader has; undefined: it cannot resume, because the service was restarted */
  readonly from: number | undefined;
  readonly now: () => number;
  readonly onClose: (reader: EventReader) => void;
}

const batchEvents = 64;
const batchBytes = 256 * 1024;
/** Sessions with news that a slow reader has not taken. */
const maxPending = 2_000;

/**
 * One reader of the event stream. Events stay in the rings until it takes them, so a reader that takes nothing costs no
 * memory: when it comes back it is told that there is a gap.
 */
export class EventReader implements Disposable {
  readonly #parts: ReaderParts;
  readonly #pending = new Map<string, LiveEvent>();
  #position: number;
  #hasGap: boolean;
  #isEnded = false;
  #wake: (() => void) | undefined;

  constructor(parts: ReaderParts) {
    this.#parts = parts;
    this.#hasGap = parts.from === undefined;
    this.#position = parts.from ?? parts.rings.last(parts.audience);
  }

  /** Where to resume: everything before it was taken. */
  get position(): string {
    return `${this.#parts.epoch}-${this.#position}`;
  }

  /** Something may be new in the rings. */
  wake(): void {
    this.#wake?.();
  }

  sees(namespace: string | undefined): boolean {
    const { audience } = this.#parts;
    return audience.numbering === "all" && audience.namespace === undefined ? true : audience.namespace === namespace;
  }

  offer(event: LiveEvent): void {
    const isForAll = event.session === undefined;
    if (isForAll ? !this.#parts.hasMetrics : !this.sees(namespaceOf(event.session))) return;
    if (!isForAll && !this.#isWanted(event.session)) return;
    const key = `${event.type} ${event.session ?? ""}`;
    this.#pending.delete(key);
    this.#pending.set(key, event);
    if (this.#pending.size > maxPending) this.#hasGap = true;
    if (this.#hasGap) this.#pending.clear();
    this.wake();
  }

  /** Whether it reads this session, named with its namespace, and nothing else. */
  isOnlyFor(key: string): boolean {
    return this.#parts.session !== undefined && this.sees(namespaceOf(key)) && this.#isWanted(key);
  }

  /** It gets what there is, and nothing more. */
  end(): void {
    this.#isEnded = true;
    this.wake();
  }

  /** Something was missed: it is told that there is a gap. */
  loseTrack(): void {
    this.#hasGap = true;
    this.wake();
  }

  /** The next events; waits for one. Empty when `signal` is aborted, or after `end`. */
  async next(signal: AbortSignal): Promise<readonly SentEvent[]> {
    while (!signal.aborted) {
      const events = this.#take();
      if (events.length > 0) return events;
      if (this.#isEnded) return [];
      await this.#news(signal);
    }
    return [];
  }

  [Symbol.dispose](): void {
    this.#parts.onClose(this);
    this.wake();
  }

  #take(): SentEvent[] {
    const { rings, audience, now } = this.#parts;
    if (this.#hasGap || rings.hasLost(audience, this.#position)) {
      this.#hasGap = false;
      this.#pending.clear();
      this.#position = rings.last(audience);
      return [viewOfGap(this.position, now())];
    }
    const events = this.#takeKept();
    if (events.length > 0) return events;
    this.#position = rings.last(audience);
    const live = [...this.#pending.values()].slice(0, batchEvents);
    for (const { type, session = "" } of live) this.#pending.delete(`${type} ${session}`);
    return live.map((event) => viewOfLive(this.position, event, audience));
  }

  #takeKept(): SentEvent[] {
    const { rings, audience } = this.#parts;
    const events: SentEvent[] = [];
    for (;;) {
      const taken = withinBytes(rings.after(audience, this.#position, batchEvents));
      for (const kept of taken) {
        this.#position = kept[audience.numbering];
        if (this.#isWanted(sessionKeyOf(kept.event))) events.push(viewOfKept(this.position, kept, audience));
      }
      if (taken.length === 0 || events.length > 0) return events;
    }
  }

  #isWanted(key: string | undefined): boolean {
    const { session } = this.#parts;
    return session === undefined || (key !== undefined && (shownId(key) === session || key === session));
  }

  #news(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        signal.removeEventListener("abort", done);
        this.#wake = undefined;
        resolve();
      };
      this.#wake = done;
      signal.addEventListener("abort", done, { once: true });
    });
  }
}

function withinBytes(events: readonly KeptEvent[]): readonly KeptEvent[] {
  let bytes = 0;
  const end = events.findIndex((event, index) => {
    bytes += event.bytes;
    return index > 0 && bytes > batchBytes;
  });
  return end === -1 ? events : events.slice(0, end);
}
