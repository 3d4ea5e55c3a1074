import { CodecellError, messageOf } from "../lib/errors.ts";
import { diskFailure } from "../lib/files/disk-failure.ts";
import { type Logger, silentLogger } from "../lib/log/logger.ts";
import type { Audit } from "./audit.ts";
import { ChainWriter, type ChainWriterOptions } from "./chain/chain-writer.ts";
import type { AuditEvent } from "./event.ts";
import { eventWriter } from "./event.ts";
import { pruneIdleChains } from "./prune-idle.ts";

export interface AuditLogOptions {
  /** audit directory; created when the first event is written */
  readonly dir: string;
  /** the tenant whose events are recorded, in chains of their own */
  readonly namespace?: string;
  readonly durable: boolean;
  readonly keepBytes: number;
  readonly keepMs: number;
  /** variables whose values must not appear in events */
  readonly env?: Readonly<Record<string, string>>;
  readonly logger?: Logger;
  /** wall-clock milliseconds */
  readonly now?: () => number;
  /** limit of the queue in memory while the disk is full; default 8 MiB */
  readonly maxQueuedBytes?: number;
  /** default: a quarter of `keepBytes`, at most 16 MiB */
  readonly fileBytes?: number;
}

interface Queued {
  /** undefined: a reserved position */
  events: readonly AuditEvent[] | undefined;
  readonly atMs: number;
  weight: number;
}

interface Waiter {
  /** number of events that must be on disk */
  readonly upTo: number;
  readonly resolve: () => void;
  readonly reject: (error: CodecellError) => void;
}

/** Events within this time are written together. */
const gatherMs = 10;
/** How much a power cut can lose, unless the policy sets `audit.durable`. */
const syncEveryMs = 1_000;
const retryMs = 1_000;
/** Estimated memory of an event besides its texts. */
const eventWeight = 1_000;
const batchEvents = 256;
const largestFileBytes = 16 * 1024 * 1024;

/** The audit log of one process. Events are queued at once, then sealed and written in the background. */
export class AuditLog implements Audit {
  readonly isDurable: boolean;
  readonly #options: AuditLogOptions;
  readonly #logger: Logger;
  readonly #now: () => number;
  readonly #maxQueuedBytes: number;
  #queue: Queued[] = [];
  #queuedBytes = 0;
  /** numbers of events: accepted, made into lines, written */
  #recorded = 0;
  #sealed = 0;
  #written = 0;
  #lost = 0;
  #waiters: Waiter[] = [];
  #writer: ChainWriter | undefined;
  #draining: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #syncTimer: NodeJS.Timeout | undefined;
  #isSyncDue = false;
  #isTidyDue = true;
  #tidying: Promise<void> | undefined;
  #failure: { readonly error: unknown } | undefined;
  #closing: Promise<void> | undefined;

  constructor(options: AuditLogOptions) {
    this.#options = options;
    this.isDurable = options.durable;
    this.#logger = options.logger ?? silentLogger;
    this.#now = options.now ?? Date.now;
    this.#maxQueuedBytes = options.maxQueuedBytes ?? 8 * 1024 * 1024;
  }

  /** Whether it records and prunes as these rules of a policy say. */
  follows({ keepBytes, keepMs, durable }: { keepBytes: number; keepMs: number; durable: boolean }): boolean {
    const own = this.#options;
    return own.keepBytes === keepBytes && own.keepMs === keepMs && own.durable === durable;
  }

  record(event: AuditEvent): void {
    const kept = this.#hasRoomForText(event) ? event : withoutCode(event);
    this.#take([kept], weightOf(kept));
  }

  /**
   * Half of the queue is for events alone. The attack: runs with long code fill the queue, and the events of others, or how
   * those runs ended, are lost. The text is dropped instead.
   */
  #hasRoomForText(event: AuditEvent): boolean {
    return weightOf(event) === eventWeight || this.#heldBytes + weightOf(event) <= this.#maxQueuedBytes / 2;
  }

  get #heldBytes(): number {
    return this.#queuedBytes + (this.#failure ? (this.#writer?.unwrittenBytes ?? 0) : 0);
  }

  recordLater(events: Promise<readonly AuditEvent[]>): void {
    const place = this.#take(undefined, eventWeight);
    if (!place) return;
    const fill = (known: readonly AuditEvent[]) => {
      place.events = known;
      const more = known.reduce((sum, event) => sum + weightOf(event), 0) - place.weight;
      place.weight += more;
      this.#queuedBytes += more;
      if (this.#waiters.length > 0) void this.#drain();
      else this.#drainSoon();
    };
    events.then(fill, () => {
      this.#lost++;
      fill([]);
    });
  }

  #take(events: readonly AuditEvent[] | undefined, weight: number): Queued | undefined {
    const held = this.#heldBytes;
    // The first event is always accepted.
    if (this.#closing || (held > 0 && held + weight > this.#maxQueuedBytes)) {
      this.#lost++;
      return undefined;
    }
    const queued = { events, atMs: this.#now(), weight };
    this.#queue.push(queued);
    this.#queuedBytes += weight;
    this.#recorded++;
    this.#drainSoon();
    return queued;
  }

  #drainSoon(): void {
    // Not unref'd, so that the last events are written before the program exits.
    if (!this.#failure && this.#isReady) this.#timer ??= setTimeout(() => void this.#drain(), gatherMs);
  }

  /** Whether there is something to write. A reserved position blocks the events after it. */
  get #isReady(): boolean {
    return this.#queue[0]?.events !== undefined;
  }

  async settled(): Promise<void> {
    if (this.#lost > 0) {
      void this.#drain();
      throw failed(this.#failure?.error ?? "events were lost", this.#options.dir);
    }
    if (!this.#writer && this.#recorded === 0) return;
    await this.#untilSynced();
  }

  /** Writes what is left and releases the chain. Never throws: call `settled` first to learn of failures. */
  [Symbol.asyncDispose](): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    if (!this.#writer && this.#recorded === 0) return;
    this.#queue.push({ events: [{ type: "audit.closed" }], atMs: this.#now(), weight: 0 });
    this.#recorded++;
    const problem = await this.#untilSynced().then(
      () => undefined,
      (error: unknown) => error,
    );
    await this.#draining;
    await this.#tidying;
    clearTimeout(this.#timer);
    clearTimeout(this.#syncTimer);
    const unwritten = this.#recorded - this.#written + this.#lost;
    await this.#writer?.[Symbol.asyncDispose]().catch(() => {});
    if (problem !== undefined)
      this.#logger.error(`the last ${unwritten} audit events could not be written: ${messageOf(problem)}`);
  }

  #untilSynced(): Promise<void> {
    const synced = new Promise<void>((resolve, reject) => {
      this.#waiters.push({ upTo: this.#recorded, resolve, reject });
    });
    void this.#drain();
    return synced;
  }

  /** One at a time: a call during a write shares it. */
  #drain(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#draining ??= this.#write()
      .catch((error: unknown) => this.#fail(error))
      .finally(() => {
        this.#draining = undefined;
        this.#goOn();
      });
    return this.#draining;
  }

  async #write(): Promise<void> {
    this.#writer ??= await this.#open();
    const writer = this.#writer;
    do {
      const sealed = this.#seal(writer);
      await writer.write();
      this.#written = sealed;
      this.#worksAgain();
      if (writer.isFileFull) {
        await writer.rotate();
        this.#isTidyDue = true;
      }
      if (this.#hasWaiters || this.#isSyncDue) await this.#sync(writer, sealed);
    } while (this.#isReady || this.#hasLostToTell || this.#hasWaiters);
  }

  /** Turns queued events into lines; returns how many events are lines now. */
  #seal(writer: ChainWriter): number {
    // Lines that could not be written go first, and must not take more memory meanwhile.
    let taken = 0;
    while (!writer.hasUnwritten || taken > 0) {
      const next = this.#queue[taken];
      if (!next?.events || taken === batchEvents || (taken > 0 && writer.isFileFull)) break;
      for (const event of next.events) writer.add(event, next.atMs);
      this.#queuedBytes -= next.weight;
      taken++;
    }
    this.#queue.splice(0, taken);
    this.#sealed += taken;
    if (this.#hasLostToTell && (taken > 0 || !writer.hasUnwritten)) {
      const why = this.#failure ? messageOf(this.#failure.error) : "events came faster than they could be written";
      writer.add({ type: "audit.lost", events: this.#lost, why });
      this.#lost = 0;
    }
    return this.#sealed;
  }

  /** For lines that are written and only need to be synced. */
  get #hasWaiters(): boolean {
    return this.#waiters.some(({ upTo }) => upTo <= this.#sealed);
  }

  /** Comes after everything that was recorded before. */
  get #hasLostToTell(): boolean {
    return this.#lost > 0 && this.#queue.length === 0;
  }

  async #sync(writer: ChainWriter, sealed: number): Promise<void> {
    await writer.sync();
    if (this.#isSyncDue) await writer.syncHead();
    this.#isSyncDue = false;
    const [served, waiting] = [this.#waiters.filter(({ upTo }) => upTo <= sealed), this.#waiters];
    this.#waiters = waiting.filter((waiter) => !served.includes(waiter));
    for (const { resolve } of served) resolve();
  }

  #fail(error: unknown): void {
    if (!this.#failure)
      this.#logger.error(`the audit log cannot be written: ${messageOf(diskFailure(error) ?? error)}`);
    this.#failure = { error };
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const { reject } of waiters) reject(failed(error, this.#options.dir));
  }

  #worksAgain(): void {
    if (!this.#failure) return;
    this.#failure = undefined;
    this.#logger.warn("the audit log can be written again");
  }

  /** Runs after the pending events are written, so that no caller waits for it. */
  #tidy(): void {
    const writer = this.#writer;
    if (!writer || !this.#isTidyDue || this.#tidying) return;
    this.#isTidyDue = false;
    this.#tidying = pruneIdleChains(this.#writerOptions(this.#now()), writer.chain)
      .catch((error: unknown) => this.#logger.warn("old audit files could not be removed", { error }))
      .finally(() => {
        this.#tidying = undefined;
      });
  }

  #goOn(): void {
    if (!this.#failure) this.#tidy();
    if (this.#waiters.length > 0) {
      // Also for callers that came while the last write was finishing. A reserved position triggers its own call.
      if (this.#isReady || this.#hasWaiters) void this.#drain();
    } else if (this.#closing) return;
    else if (this.#failure) this.#timer ??= setTimeout(() => void this.#drain(), retryMs).unref();
    else if (this.#writer?.needsSync) {
      this.#syncTimer ??= setTimeout(() => {
        this.#syncTimer = undefined;
        this.#isSyncDue = true;
        void this.#drain();
      }, syncEveryMs).unref();
    }
  }

  async #open(): Promise<ChainWriter> {
    // Opened lazily with the first event, so that `audit.opened` comes right before it.
    const writer = await ChainWriter.open(this.#writerOptions(this.#queue[0]?.atMs ?? this.#now()));
    await writer
      .prune()
      .catch((error: unknown) => this.#logger.warn("old audit files could not be removed", { error }));
    return writer;
  }

  #writerOptions(openedMs: number): ChainWriterOptions {
    const { dir, namespace, keepBytes, keepMs, env } = this.#options;
    const fileBytes = this.#options.fileBytes ?? Math.min(largestFileBytes, Math.ceil(keepBytes / 4));
    const limits = { keepBytes, keepMs };
    return { dir, namespace, limits, fileBytes, now: this.#now, openedMs, toJson: eventWriter(env) };
  }
}

/** Estimated memory: most events are small, except for code and the names of files. */
function weightOf(event: AuditEvent): number {
  if (event.type === "run.started" || event.type === "expression.started")
    return eventWeight + (event.code?.length ?? 0);
  if (event.type === "run.ended") return event.files.reduce((sum, { name }) => sum + name.length + 100, eventWeight);
  return eventWeight;
}

function withoutCode(event: AuditEvent): AuditEvent {
  if (event.type !== "run.started" && event.type !== "expression.started") return event;
  const { code, ...rest } = event;
  return { ...rest, isCodeCut: true };
}

function failed(cause: unknown, dir: string): CodecellError {
  const disk = diskFailure(cause);
  const why = messageOf(disk ?? cause);
  const isFull = cause instanceof Error && "code" in cause && (cause.code === "ENOSPC" || cause.code === "EDQUOT");
  const remedy = isFull
    ? "free some space there"
    : (disk?.hint ?? "make it writable, or choose another state directory");
  return new CodecellError("audit_failed", `the audit log in ${dir} cannot be written: ${why}`, {
    hint: `${remedy}; audit.durable blocks every run that cannot be recorded`,
    cause,
  });
}
