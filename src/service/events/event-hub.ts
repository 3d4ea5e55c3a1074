import { randomBytes } from "node:crypto";
import { type AuditEvent, eventWriter } from "../../audit/event.ts";
import { EventReader, type ReaderOptions } from "./event-reader.ts";
import { type Audience, defaultEventLimits, type EventLimits, EventRings } from "./event-rings.ts";
import { namespaceOf, sessionKeyOf } from "./event-view.ts";
import type { LiveEvent } from "./live-event.ts";
import { type DescribedSession, SessionChanges } from "./session-changes.ts";

export interface EventHubOptions {
  /** variables whose values must not appear in events */
  readonly env?: Readonly<Record<string, string>>;
  /** What a client sees of a session now. */
  readonly describe: (key: string) => Promise<DescribedSession | undefined>;
  readonly limits?: Partial<EventLimits>;
  /** wall-clock milliseconds */
  readonly now?: () => number;
}

/** Events after which a session may look different: another state, a run more, another checkpoint. */
const changing = /^(?:session|run)\./;

/** The events of one service: keeps the last ones of each tenant, and wakes those who read. */
export class EventHub {
  readonly #rings: EventRings;
  readonly #write: (event: object) => string;
  readonly #hasSecrets: boolean;
  readonly #now: () => number;
  readonly #readers = new Set<EventReader>();
  readonly #changes: SessionChanges;
  readonly #whileRead: (() => Disposable)[] = [];
  #started: Disposable[] = [];
  #waking = false;
  /** Other in each process: numbers start again, so an id of before a restart must not be taken for one of now. */
  readonly #epoch = randomBytes(6).toString("hex");

  constructor(options: EventHubOptions) {
    const { env = {}, describe, now = Date.now } = options;
    this.#rings = new EventRings({ ...defaultEventLimits, ...options.limits });
    this.#write = eventWriter(env);
    this.#hasSecrets = Object.keys(env).length > 0;
    this.#now = now;
    this.#changes = new SessionChanges({
      describe,
      publish: (session, fields) => this.publish({ type: "session.changed", session, atMs: this.#now(), fields }),
    });
    this.whileRead(() => this.#changes.start());
  }

  /** The memory of the kept events, roughly. */
  get bytes(): number {
    return this.#rings.bytes;
  }

  get readers(): number {
    return this.#readers.size;
  }

  /** Runs `start` when the first reader comes, and disposes its result when the last one has left. */
  whileRead(start: () => Disposable): void {
    this.#whileRead.push(start);
    if (this.readers > 0) this.#started.push(start());
  }

  /** Takes an event of the audit. */
  record(event: AuditEvent, atMs: number): void {
    const kept: AuditEvent = this.#hasSecrets ? JSON.parse(this.#write(event)) : event;
    const key = sessionKeyOf(event);
    const namespace = namespaceOf(key);
    this.#rings.add(namespace, kept, { atMs, textBytes: textBytesOf(kept) });
    this.#wakeSoon();
    if (key !== undefined && changing.test(event.type)) this.changed(key);
  }

  /** A session, named with its namespace, may look different now. */
  changed(key: string): void {
    this.#rings.changed(namespaceOf(key), key);
    this.#changes.changed(key);
  }

  /**
   * Another gateway opened or closed a session. Who reads this session alone reads to the end and connects again: the gateway that
   * has it now has its events. The others learn that their list is out of date.
   */
  moved(key: string): void {
    for (const reader of this.#readers) if (reader.isOnlyFor(key)) reader.end();
    this.publish({ type: "session.moved", session: key, atMs: this.#now(), fields: {} });
  }

  /** Other gateways may have opened and closed sessions without our knowledge. */
  missed(): void {
    for (const reader of this.#readers) reader.loseTrack();
  }

  /** Sends an event to those who read now. */
  publish(event: LiveEvent): void {
    for (const reader of this.#readers) reader.offer(event);
  }

  /** Reads from the event after `after`; without it, from now on. The reader is disposed by its caller. */
  read({ after, ...options }: ReaderOptions & { readonly after?: string | undefined }): EventReader {
    const { audience } = options;
    const epoch = `${audience.numbering === "all" ? "a" : "e"}${this.#epoch}`;
    const from = after === undefined ? this.#rings.last(audience) : positionOf(after, epoch);
    const onClose = (closed: EventReader) => this.#left(closed);
    const reader = new EventReader({ ...options, epoch, from, rings: this.#rings, now: this.#now, onClose });
    this.#readers.add(reader);
    if (this.#readers.size === 1) this.#started = this.#whileRead.map((start) => start());
    if (from !== undefined && after !== undefined) this.#repeatChanges(audience, from);
    return reader;
  }

  /** What sessions look like is not kept, so those that changed meanwhile are published again. */
  #repeatChanges(audience: Audience, from: number): void {
    for (const key of this.#rings.changedSince(audience, from)) this.#changes.changed(key);
  }

  #left(reader: EventReader): void {
    if (!this.#readers.delete(reader) || this.#readers.size > 0) return;
    for (const started of this.#started.splice(0)) started[Symbol.dispose]();
  }

  /** Once per turn of the event loop: runs record several events at a time, and readers must not delay them. */
  #wakeSoon(): void {
    if (this.#waking || this.#readers.size === 0) return;
    this.#waking = true;
    setImmediate(() => {
      this.#waking = false;
      for (const reader of this.#readers) reader.wake();
    });
  }
}

/** Estimated, not written as JSON: that would cost a run with long code half a millisecond. */
function textBytesOf(event: AuditEvent): number {
  let bytes = 0;
  for (const value of Object.values(event)) {
    if (typeof value === "string") bytes += value.length;
    else if (typeof value === "object") bytes += JSON.stringify(value).length;
  }
  return bytes;
}

/** The number in an id; undefined: an id of another process, or of another kind of stream. */
function positionOf(id: string, epoch: string): number | undefined {
  const [, of, number] = /^([ae][0-9a-f]{12})-(\d{1,15})$/.exec(id) ?? [];
  return of === epoch ? Number(number) : undefined;
}
