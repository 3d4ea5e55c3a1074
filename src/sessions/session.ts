import { lstat } from "node:fs/promises";
import {
  type ChangedFile,
  type DescribedArtifacts,
  type DescribeOptions,
  describeArtifacts,
} from "../artifacts/artifacts.ts";
import { type DecodedHostFile, decodeHostFile } from "../artifacts/decode-host-file.ts";
import { readHostFile } from "../artifacts/host-file.ts";
import type { HostFileForm } from "../artifacts/host-file-form.ts";
import type { FileList, ListOptions } from "../artifacts/list-files.ts";
import type { WorkspaceFiles } from "../artifacts/workspace-files.ts";
import type { FileSource } from "../artifacts/write-file.ts";
import type { Variable } from "../kernel/messages.ts";
import type { ValuePreview } from "../kernel/value-preview.ts";
import { CodecellError } from "../lib/errors.ts";
import { SerialQueue } from "../lib/serial-queue.ts";
import { type LiveChange, policyInForce } from "../policy/change/live-rules.ts";
import type { Authority, PolicyChange } from "../policy/change/merge.ts";
import { defaultLanguage } from "../policy/languages.ts";
import type { Policy } from "../policy/schema.ts";
import type { EnforcementReceipt } from "../runners/receipt.ts";
import type { CellUsage } from "../runners/runner.ts";
import { auditedFiles } from "./files/audited-files.ts";
import { filesOf, uploadFile } from "./files/upload-file.ts";
import type { Checkpoint } from "./interpreter/checkpoints.ts";
import type { ReadOptions } from "./interpreter/session-values.ts";
import type { LiveSession } from "./live-session.ts";
import { Run, type RunProgress, type RunResult } from "./runs/run.ts";
import { type LiveRunOptions, milliseconds, type RunOptions } from "./runs/run-options.ts";
import type { SessionAudit } from "./session-audit.ts";
import { shownId } from "./session-id.ts";
import type { HistoryEntry } from "./storage/session-history.ts";
import { type RestoreReport, SessionSaves } from "./storage/session-saves.ts";
import type { SessionRecord, SessionStore, SnapshotInfo } from "./storage/store.ts";

const maxLoadBytes = 256 * 1024 * 1024;
/** Forms that are taken apart on the host, where a large one would hold up everybody else. */
const maxParsedBytes = 32 * 1024 * 1024;

/** Where a session is: in a cell, on disk, or over. */
export type SessionState = "live" | "saved" | "closed";

/** What is known of a session without waking it. */
export interface SessionInfo {
  readonly id: string;
  readonly state: SessionState;
  readonly isBusy: boolean;
  readonly createdMs: number;
  readonly usedMs: number;
  readonly runs: number;
  readonly runner: string;
  readonly isPersistent: boolean;
  readonly checkpoints: readonly Checkpoint[];
  readonly snapshot: SnapshotInfo | undefined;
  /** sessions in the same cell, this one included: forks share limits and workspace */
  readonly sharers: number;
}

/** @internal */
export interface SessionParts {
  readonly record: SessionRecord;
  /** the operator's, as it is now */
  readonly policy: () => Policy;
  readonly runner: () => string;
  readonly store: SessionStore;
  /** wall-clock milliseconds */
  readonly now: () => number;
  /** absent: nothing is written down */
  readonly audit?: SessionAudit | undefined;
  /** makes a cell for it, from its saved state where there is one */
  readonly revive: (session: Session) => Promise<LiveSession>;
  readonly fork: (id: string, newId?: string) => Promise<Session>;
  readonly close: (id: string, options: { forget?: boolean }) => Promise<void>;
}

/**
 * A session: variables, files and history under one id, in a cell that comes when it is needed. What its runner cannot do
 * throws `not_supported` with the reason.
 */
export class Session implements AsyncDisposable {
  readonly #operator: () => Policy;
  readonly #store: SessionStore;
  readonly #now: () => number;
  readonly #revive: (session: Session) => Promise<LiveSession>;
  readonly #runner: () => string;
  readonly #audit: SessionAudit | undefined;
  readonly #fork: SessionParts["fork"];
  readonly #close: SessionParts["close"];
  #record: SessionRecord;
  #live: LiveSession | undefined;
  #reviving: Promise<LiveSession> | undefined;
  #restored: RestoreReport | undefined;
  readonly #saves: SessionSaves;
  readonly #queue = new SerialQueue();
  /** entries of the history on their way to the disk */
  readonly #writes = new SerialQueue();
  #closedBy: CodecellError | undefined;
  /** by its own caller */
  #closing: Promise<void> | undefined;
  /** its cell may outlive it in a fork, and must not hold on to it then */
  #forgetRequested = () => {};

  /** @internal */
  constructor(parts: SessionParts, live?: LiveSession) {
    this.#record = parts.record;
    this.#operator = parts.policy;
    this.#runner = parts.runner;
    this.#store = parts.store;
    this.#now = parts.now;
    this.#audit = parts.audit;
    this.#revive = parts.revive;
    this.#fork = parts.fork;
    this.#close = parts.close;
    this.#live = live;
    this.#saves = new SessionSaves(this, parts.store, parts.policy(), parts.now);
    if (live) this.#keepAsked(live);
  }

  /** The policy it is under, in its cell or in the next one. */
  get policy(): Policy {
    return this.#live?.policy ?? policyInForce(this.#operator(), this.#record.asked ?? {});
  }

  /** See `Session.updatePolicy`. What was asked holds in the cells to come as well, also after it was saved. */
  async updatePolicy(change: LiveChange, authority: Authority = "host"): Promise<readonly PolicyChange[]> {
    return (await this.#session()).updatePolicy(change, authority);
  }

  /** @internal For the manager: one that waited in a pool begins its life, under this id. */
  begin(id: string): void {
    const nowMs = this.#now();
    this.#record = { ...this.#record, id, createdMs: nowMs, usedMs: nowMs };
  }

  /** What its callers call it: without the namespace of a tenant. */
  get id(): string {
    return shownId(this.#record.id);
  }

  /** @internal What the manager and the disk know it by. */
  get key(): string {
    return this.#record.id;
  }

  /** @internal */
  get record(): SessionRecord {
    return this.#record;
  }

  /** @internal */
  set record(record: SessionRecord) {
    this.#record = record;
  }

  /** @internal The session in its cell, if it is there. */
  get live(): LiveSession | undefined {
    return this.#live;
  }

  /** The runner of its cell, or the one that its next cell is expected in. */
  get runner(): string {
    return this.#live?.receipt.runner ?? this.#runner();
  }

  get usedMs(): number {
    return this.#record.usedMs;
  }

  /** What came of bringing it back, if it was. */
  get restored(): RestoreReport | undefined {
    return this.#restored;
  }

  get isBusy(): boolean {
    return this.#live?.isBusy === true || this.#reviving !== undefined || this.#saves.isSaving;
  }

  get state(): SessionState {
    if (this.#closedBy) return "closed";
    return this.#live?.isAlive ? "live" : "saved";
  }

  get info(): SessionInfo {
    const { id, createdMs, usedMs, snapshot } = this.#record;
    return {
      ...{ id, state: this.state, isBusy: this.isBusy, createdMs, usedMs, runs: this.#record.runs, snapshot },
      runner: this.runner,
      isPersistent: this.policy.session.persist,
      checkpoints: this.#live?.checkpoints ?? [],
      sharers: this.#live?.sharers ?? 0,
    };
  }

  /**
   * Starts a run and answers at once: await it for the result, iterate it for the events. It keeps running when its caller
   * goes away; only its own limits, its signal and `interrupt` stop it. What the session refuses rejects the run.
   */
  run(code: string, options: RunOptions = {}): Run {
    return new Run((progress) => this.#inOrder(progress, code, options));
  }

  async #inOrder(progress: RunProgress, code: string, options: RunOptions): Promise<RunResult> {
    const { whenBusy = "refuse", timeout, ...rest } = options;
    const live = { ...rest, ...(timeout === undefined ? {} : { timeoutMs: milliseconds(timeout) }) };
    if (whenBusy === "queue") return this.#queue.run(() => this.#start(progress, code, live));
    if (this.#queue.waiting > 0) {
      throw new CodecellError("session_busy", `${this.#queue.waiting} runs are waiting for session ${this.id}`, {
        hint: 'queue this one too (whenBusy: "queue"), or wait',
      });
    }
    const ended = this.#start(progress, code, live);
    this.#queue.follow(ended);
    return ended;
  }

  async #start(progress: RunProgress, code: string, options: LiveRunOptions): Promise<RunResult> {
    // Without a pause where nothing is to wait for: the code is on its way before this returns.
    const session = this.#ready() ?? (await this.#session());
    const marking = this.#saves.changing();
    if (marking) await marking;
    const number = this.#record.runs + 1;
    const ended = session.perform(progress, number, code, options);
    // Counted now: a session that ends under its run has had it all the same.
    this.#record = { ...this.#record, runs: number };
    const result = await ended;
    this.#afterRun(number, code, options.language ?? defaultLanguage, result);
    return result;
  }

  /** Names, types, sizes and summaries of its variables. */
  async variables(): Promise<Variable[]> {
    return (await this.#session()).variables();
  }

  /** The value of a variable, or of any Python expression, through JSON. What is over the limit stays in the cell. */
  async get(expression: string, options: ReadOptions = {}): Promise<unknown> {
    return (await this.#session()).get(expression, options);
  }

  /** The bytes of a bytes-like or text variable, without base64. */
  async getBytes(name: string, options: ReadOptions = {}): Promise<Buffer> {
    return (await this.#session()).getBytes(name, options);
  }

  /** The beginning of a value as text, whatever its size: JSON, or the repr of what JSON cannot hold. */
  async preview(expression: string, options: ReadOptions = {}): Promise<ValuePreview> {
    return (await this.#session()).preview(expression, options);
  }

  /** Puts a value into a variable: bytes as they are, anything else through JSON. */
  async set(name: string, value: unknown): Promise<void> {
    const session = await this.#session();
    await this.#saves.changing();
    await session.set(name, value);
    this.#saves.changed();
  }

  /** Forgets every variable and starts a fresh interpreter in the same cell; files stay. */
  async reset(): Promise<void> {
    const session = await this.#session();
    await this.#saves.changing();
    await session.reset();
    this.#audit?.audit.record({ type: "session.reset", session: this.key });
    this.#saves.changed();
  }

  /** Reads a file of the host into a variable, if `fs.load` allows it. Large text and bytes do not pass through JSON. */
  async load(path: string, name: string, form: HostFileForm = "text", baseDir?: string): Promise<{ bytes: number }> {
    const maxBytes = form === "text" || form === "bytes" ? maxLoadBytes : maxParsedBytes;
    const file = await readHostFile(path, this.policy, { maxBytes, baseDir }).catch((error: unknown) => {
      this.#audit?.fileDenied(this.key, path, error);
      throw error;
    });
    const { format, body }: DecodedHostFile = decodeHostFile(file.data, form);
    const session = await this.#session();
    this.#audit?.fileLoaded(this.key, file.path, name, file.data);
    await this.#audit?.settled();
    await this.#saves.changing();
    await session.setEncoded(name, format, body);
    this.#saves.changed();
    return { bytes: file.data.byteLength };
  }

  /** Puts a file into the workspace; at most `proc.disk` bytes, and nothing is left of one that is over. */
  async upload(path: string, source: FileSource, signal?: AbortSignal): Promise<{ size: number }> {
    return uploadFile(await this.#session(), path, source, {
      maxBytes: this.policy.proc.diskBytes,
      owner: () => this.#workspaceOwner(),
      onPiece: () => this.#touch(),
      audit: this.#audit && { log: this.#audit, session: this.key },
      ...(signal ? { signal } : {}),
    });
  }

  #touch(): void {
    this.#record = { ...this.#record, usedMs: this.#now() };
  }

  /** The files of its workspace, to read, write, list and remove. */
  async files(): Promise<WorkspaceFiles> {
    const files = filesOf(await this.#session());
    return this.#audit ? auditedFiles(files, this.#audit.audit, this.key) : files;
  }

  /** The files of its workspace, with size and time of the last change. */
  async listFiles(options: ListOptions = {}): Promise<FileList> {
    return (await this.files()).list(options);
  }

  /** The files of its workspace as artifacts: with type and sha256. They are read for that and nothing of them leaves. */
  async artifacts(options: ListOptions = {}): Promise<DescribedArtifacts> {
    const { files } = await this.listFiles(options);
    return this.describe(files);
  }

  /** Types and digests of files. They are read for that and nothing of them leaves: it is not written down. @internal */
  async describe(listed: readonly ChangedFile[], options: DescribeOptions = {}): Promise<DescribedArtifacts> {
    return describeArtifacts(filesOf(await this.#session()), listed, { maxCount: listed.length }, options);
  }

  /** Freezes a copy of the interpreter under a name; copy-on-write, so it takes milliseconds whatever it holds. */
  async checkpoint(name: string): Promise<Checkpoint> {
    const checkpoint = await (await this.#session()).checkpoint(name);
    this.#audit?.audit.record({ type: "session.checkpoint", session: this.key, name });
    return checkpoint;
  }

  /** Variables as they were at the checkpoint, which stays; files are as they are now. */
  async rollback(name: string): Promise<Checkpoint> {
    const session = await this.#session();
    await this.#saves.changing();
    const checkpoint = await session.rollback(name);
    this.#audit?.audit.record({ type: "session.rollback", session: this.key, name });
    this.#saves.changed();
    return checkpoint;
  }

  /** The checkpoints that `rollback` can go back to. */
  get checkpoints(): readonly Checkpoint[] {
    return this.#live?.checkpoints ?? [];
  }

  /** Ends a checkpoint and gives back the memory it holds. */
  async forgetCheckpoint(name: string): Promise<void> {
    await (await this.#session()).forgetCheckpoint(name);
  }

  /** @internal For the manager: a fork has variables from its first moment on, and none of them is saved. */
  async begunFromAnother(): Promise<void> {
    await this.#saves.changing();
    this.#saves.changed();
  }

  /** @internal For the manager: the cell's session itself. */
  wake(): Promise<LiveSession> {
    return this.#session();
  }

  /** A second session that starts from this one's variables, in the same cell and workspace; its id is made up unless given. */
  fork(id?: string): Promise<Session> {
    return this.#fork(this.key, id);
  }

  /** What is enforced on it, rule by rule, and by what. */
  async receipt(): Promise<EnforcementReceipt> {
    return (await this.#session()).receipt;
  }

  /** What its cell uses now, as far as the runner can tell. */
  async usage(): Promise<CellUsage> {
    return (await this.#session()).usage();
  }

  /** What `run` takes as `language` here. */
  async languages(): Promise<readonly string[]> {
    return (await this.#session()).languages;
  }

  /** The version of its Python. */
  async pythonVersion(): Promise<string> {
    return (await this.#session()).pythonVersion;
  }

  /** Its last runs, oldest first; kept where the policy persists sessions. */
  async history(limit = 100): Promise<HistoryEntry[]> {
    await this.#writes.settled();
    return this.#store.history(this.key, limit);
  }

  /** Writes the variables to disk, one by one; what cannot be saved is named. The host never looks into the values. */
  async save(): Promise<SnapshotInfo> {
    if (!this.policy.session.persist) {
      // Nobody would find it again or remove it, and the id may be that of a session which somebody else saved.
      throw new CodecellError("not_supported", "sessions are not persistent under this policy", {
        hint: "set session.persist in the policy",
      });
    }
    return this.#saves.save(await this.#session());
  }

  /** Ends its cell. A persistent session is saved and can be opened again, unless `forget` removes it for good. */
  close(options: { forget?: boolean } = {}): Promise<void> {
    if (this.#closing === undefined || options.forget === true) {
      this.#closing = this.state === "closed" && !options.forget ? Promise.resolve() : this.#close(this.key, options);
    }
    return this.#closing;
  }

  /** Closes it; twice is safe. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** @internal Saves what changed and gives the cell up; the next call brings it back. */
  async suspend(): Promise<void> {
    this.#saves.stop();
    const live = this.#live;
    if (!live) return;
    await live.settle();
    if (this.#saves.isDirty && live.isAlive && live.features.includes("snapshot")) await this.save();
    else if (this.policy.session.persist) await this.#store.write(this.#record);
    if (!this.#saves.isDirty && live.isAlive) await this.#saves.mark(false);
    this.#live = undefined;
    this.#forgetRequested();
    await live.close();
  }

  /** @internal Ends the cell; whoever calls later is told why, where it was not their doing. */
  async end(why?: string): Promise<void> {
    this.#closedBy ??= why === undefined ? closed(this.id) : culled(this.id, why, this.policy.session.persist);
    this.#saves.stop();
    await this.#reviving?.catch(() => {});
    this.#forgetRequested();
    await this.#live?.close();
    await Promise.all([this.#writes.settled(), this.#saves.marked]);
  }

  /** @internal Puts the variables of the last save back into a fresh cell, and tells the next result what did not come back. */
  async restoreInto(session: LiveSession): Promise<void> {
    const report = await this.#saves.restoreInto(session);
    if (!report) return;
    this.#restored = report;
    this.#audit?.sessionRestored(
      this.key,
      report.snapshot.run,
      [...report.snapshot.skipped, ...report.failed],
      report.problem,
    );
  }

  /** The cell's session, if it is there. */
  #ready(): LiveSession | undefined {
    if (this.#closedBy) throw this.#closedBy;
    this.#touch();
    return this.#live?.isAlive ? this.#live : undefined;
  }

  async #session(): Promise<LiveSession> {
    const ready = this.#ready();
    if (ready) return ready;
    this.#reviving ??= this.#replace().finally(() => {
      this.#reviving = undefined;
    });
    this.#live = await this.#reviving;
    return this.#live;
  }

  /** What a dead cell still holds on the host is given back first: its groups, its descriptors, its workspace. */
  async #replace(): Promise<LiveSession> {
    await this.#live?.close();
    const session = await this.#revive(this);
    this.#keepAsked(session);
    return session;
  }

  /** A session that shares its cell is changed with it, whoever asked. */
  #keepAsked(session: LiveSession): void {
    this.#forgetRequested();
    this.#forgetRequested = session.rules.onRequested(async (requestedRules) => {
      // The cell may live on in a fork: what is over, or saved, does not change any more.
      if (this.#live !== session || this.#closedBy) return;
      this.#record = { ...this.#record, asked: requestedRules };
      if (!this.#operator().session.persist) return;
      await this.#saves.settled(); // a save writes the record as it was when it began
      await this.#store.write(this.#record);
    });
  }

  #afterRun(number: number, code: string, language: string, result: RunResult): void {
    this.#touch();
    if (result.state === "lost") this.#saves.lost(this.#live?.isAlive !== true);
    else this.#saves.changed();
    if (!this.policy.session.persist) return;
    const { status, durationMs } = result;
    const entry = { run: number, atMs: this.#record.usedMs, language, code, status, durationMs };
    this.#writes.run(() => this.#store.appendHistory(this.key, entry)).catch(() => {});
  }

  async #workspaceOwner(): Promise<{ ownerUid?: number }> {
    if (process.getuid?.() !== 0) return {};
    const { workspace } = this.policy.fs;
    const uid = workspace ? (await lstat(workspace)).uid : await this.#store.workspaceOwner(this.#record.workspace);
    return { ownerUid: uid };
  }
}

function closed(id: string): CodecellError {
  return new CodecellError("session_closed", `session ${id} is closed`);
}

function culled(id: string, why: string, isKept: boolean): CodecellError {
  const rest = isKept ? "its saved state is kept" : "its variables and files are lost";
  const hint = isKept ? "open it by its id to restore it" : "open it by its id to start it again";
  return new CodecellError("session_culled", `session ${id} expired: ${why}; ${rest}`, { hint });
}
