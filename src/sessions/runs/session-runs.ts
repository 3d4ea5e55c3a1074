import { CodecellError } from "../../lib/errors.ts";
import { SerialQueue } from "../../lib/waiting/serial-queue.ts";
import { defaultLanguage } from "../../policy/languages.ts";
import type { Policy } from "../../policy/schema.ts";
import type { SessionFunctions } from "../functions/session-functions.ts";
import type { SessionLineage } from "../lineage/session-lineage.ts";
import type { SessionCell } from "../session-cell.ts";
import { MemoryHistory } from "../storage/memory-history.ts";
import type { HistoryEntry, HistoryOptions } from "../storage/session-history.ts";
import type { SavedSession, SessionSaves } from "../storage/session-saves.ts";
import type { SessionStorage } from "../storage/session-storage.ts";
import type { LiveRunOptions } from "./live-run-options.ts";
import { OutputWriter } from "./output-writer.ts";
import { OutputRecorder, type RecordedOutputs } from "./recorded-outputs.ts";
import type { RunProgress, RunResult } from "./run.ts";
import { milliseconds, type RunOptions } from "./run-options.ts";

/** A session, as far as its runs have to do with it. */
export interface SessionWithRuns extends SavedSession {
  readonly policy: Policy;
  readonly cell: SessionCell;
  readonly saves: SessionSaves;
  readonly store: SessionStorage;
  readonly functions: SessionFunctions;
  readonly lineage: SessionLineage;
  /** the end of a run counts as use of the session */
  touch(): void;
  readonly usedMs: number;
  /** how many runs it has had, over all its cells */
  runCount: number;
}

/** A run whose code was sent. */
interface BegunRun {
  readonly number: number;
  readonly ended: Promise<RunResult>;
}

/** How much of the outputs of one run is kept, on disk and in memory. */
const recordedBytes = { onDisk: 8 * 1024 * 1024, inMemory: 1024 * 1024 };

/** The runs of a session over all its cells: numbers them, queues them and keeps their history. */
export class SessionRuns {
  readonly #session: SessionWithRuns;
  readonly #queue = new SerialQueue();
  /** history entries on their way to the disk */
  readonly #writes = new SerialQueue();
  #performing = 0;
  #busySince = 0;
  /** runs whose code is not sent yet, because the cell starts or the disk is marked */
  #unsent = 0;
  readonly #onSent: (() => void)[] = [];
  /** of a session that is not kept on disk */
  readonly #memory = new MemoryHistory();
  #outputs: OutputWriter | undefined;

  constructor(session: SessionWithRuns) {
    this.#session = session;
  }

  /** Starts a run, or queues it behind the active one if the caller asks for that. */
  start(progress: RunProgress, code: string, options: RunOptions): Promise<RunResult> {
    const { whenBusy = "refuse", timeout } = options;
    const live: LiveRunOptions = timeout === undefined ? options : { ...options, timeoutMs: milliseconds(timeout) };
    if (whenBusy === "queue") return this.#queue.run(() => this.#perform(progress, code, live));
    if (this.#queue.waiting > 0) {
      const message = `${this.#queue.waiting} runs are waiting for session ${this.#session.id}`;
      throw new CodecellError("session_busy", message, { hint: 'queue this one too (whenBusy: "queue"), or wait' });
    }
    const ended = this.#perform(progress, code, live);
    this.#queue.follow(ended);
    return ended;
  }

  /** Whether a run has begun, although its code may not have been sent. */
  get isBusy(): boolean {
    return this.#performing > 0;
  }

  /** How long runs have been going on without a pause; undefined: none is. */
  get busyMs(): number | undefined {
    return this.isBusy ? performance.now() - this.#busySince : undefined;
  }

  /** Waits until the code of every run that has begun was sent. */
  async sent(): Promise<void> {
    while (this.#unsent > 0) await new Promise<void>((resolve) => this.#onSent.push(resolve));
  }

  /** The last runs, oldest first. */
  async history({ limit = 100, outputs = false }: HistoryOptions): Promise<HistoryEntry[]> {
    const { policy, store, key } = this.#session;
    if (!policy.session.persist) return this.#memory.list(limit, outputs);
    await this.written();
    const entries = await store.history(key, limit);
    return outputs ? store.withOutputs(key, entries) : entries;
  }

  /** Waits until the history is on disk. */
  async written(): Promise<void> {
    this.#outputs?.flush();
    await this.#writes.settled();
  }

  async #perform(progress: RunProgress, code: string, options: LiveRunOptions): Promise<RunResult> {
    if (this.#performing++ === 0) this.#busySince = performance.now();
    try {
      const begun = this.#begin(progress, code, options); // first: its output comes later
      const { onDisk, inMemory } = recordedBytes;
      const recorder = new OutputRecorder(this.#session.policy.session.persist ? onDisk : inMemory);
      progress.log.record(recorder);
      const { number, ended } = await begun;
      const result = await ended;
      this.#ended(number, { code, language: options.language ?? defaultLanguage }, result, recorder);
      return result;
    } finally {
      this.#performing--;
    }
  }

  /** Sends the code, without an await if the cell is ready and the disk is marked. */
  async #begin(progress: RunProgress, code: string, options: LiveRunOptions): Promise<BegunRun> {
    const session = this.#session;
    const { cell, saves } = session;
    this.#unsent++;
    try {
      const live = cell.ready() ?? (await cell.session());
      const marking = saves.changing();
      if (marking) await marking;
      const loading = session.functions.loading();
      if (loading) await loading;
      const number = session.runCount + 1;
      if (session.policy.session.undo > 0) session.lineage.beforeRun(number);
      progress.numbered(number);
      const { table } = session.functions;
      const ended = live.perform(progress, number, code, table ? { ...options, functions: table } : options);
      // Counted at the start: a session that closes during its run has had the run.
      session.runCount = number;
      return { number, ended };
    } finally {
      if (--this.#unsent === 0 && this.#onSent.length > 0) for (const resolve of this.#onSent.splice(0)) resolve();
    }
  }

  #ended(
    number: number,
    program: { readonly code: string; readonly language: string },
    result: RunResult,
    recorder: OutputRecorder,
  ): void {
    const session = this.#session;
    const { cell, saves } = session;
    session.touch();
    if (result.state === "lost") saves.lost(cell.live?.isAlive !== true);
    else saves.changed();
    if (result.state !== "kept") session.lineage.restored(result.recoveredTo ?? 0);
    const { code, language } = program;
    const { status, durationMs } = result;
    const outputs = recorder.recorded(result);
    const { cpuMs, peakMemoryBytes, sentBytes, receivedBytes } = result.usage;
    const usage = { cpuMs, peakMemoryBytes, sentBytes, receivedBytes };
    const facts = { run: number, atMs: session.usedMs, code, language, status, durationMs, usage };
    const entry: HistoryEntry = outputs ? facts : { ...facts, isSilent: true };
    if (session.policy.session.persist) this.#write(entry, outputs, recorder.bytes);
    else this.#memory.append(entry, outputs, recorder.bytes);
  }

  /** Both are written after the result is on its way to its caller. */
  #write(entry: HistoryEntry, outputs: RecordedOutputs | undefined, bytes: number): void {
    const { held } = this.#session;
    this.#writes.run(() => held.appendHistory(entry)).catch(() => {});
    if (!outputs) return;
    this.#outputs ??= new OutputWriter(held, this.#writes);
    this.#outputs.add({ run: entry.run, atMs: entry.atMs, outputs }, bytes);
  }
}
