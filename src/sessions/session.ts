import {
  type ChangedFile,
  type DescribedArtifacts,
  type DescribeOptions,
  describeArtifacts,
} from "../artifacts/artifacts.ts";
import type { HostFileForm } from "../artifacts/host-file-form.ts";
import type { FileList, ListOptions } from "../artifacts/list-files.ts";
import type { WorkspaceFiles } from "../artifacts/workspace-files.ts";
import type { FileSource } from "../artifacts/write-file.ts";
import type { Variable } from "../kernel/messages.ts";
import type { ValuePreview } from "../kernel/value-preview.ts";
import { CodecellError } from "../lib/errors.ts";
import { type LiveChange, policyInForce, type RequestedRules } from "../policy/change/live-rules.ts";
import type { Authority, PolicyChange } from "../policy/change/merge.ts";
import type { Policy } from "../policy/schema.ts";
import type { EnforcementReceipt } from "../runners/receipt.ts";
import type { CellUsage } from "../runners/runner.ts";
import { auditedFiles } from "./files/audited-files.ts";
import { loadHostFile } from "./files/load-host-file.ts";
import { filesOf, uploadFile } from "./files/upload-file.ts";
import type { Checkpoint } from "./interpreter/checkpoints.ts";
import type { ReadOptions } from "./interpreter/session-values.ts";
import type { LiveSession } from "./live-session.ts";
import { Run } from "./runs/run.ts";
import type { RunOptions } from "./runs/run-options.ts";
import { SessionRuns } from "./runs/session-runs.ts";
import type { SessionAudit } from "./session-audit.ts";
import { SessionCell } from "./session-cell.ts";
import { sessionClosed, sessionExpired } from "./session-errors.ts";
import { shownId } from "./session-id.ts";
import type { SessionInfo, SessionState } from "./session-info.ts";
import type { HistoryEntry } from "./storage/session-history.ts";
import { type RestoreReport, SessionSaves } from "./storage/session-saves.ts";
import type { SessionRecord, SessionStore, SnapshotInfo } from "./storage/store.ts";

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
  readonly #parts: SessionParts;
  readonly #cell: SessionCell;
  readonly #saves: SessionSaves;
  readonly #runs: SessionRuns;
  #record: SessionRecord;
  #restored: RestoreReport | undefined;
  /** set once its own caller closes it */
  #closing: Promise<void> | undefined;

  /** @internal */
  constructor(parts: SessionParts, live?: LiveSession) {
    this.#parts = parts;
    this.#record = parts.record;
    const { store, now } = parts;
    const onUse = () => this.#touch();
    const start = () => parts.revive(this);
    const onRequested = (rules: RequestedRules) => this.#keepRequested(rules);
    this.#cell = new SessionCell({ start, onUse, onRequested }, live);
    this.#saves = new SessionSaves(this, store, parts.policy(), now);
    this.#runs = new SessionRuns({ session: this, cell: this.#cell, saves: this.#saves, store, onUse });
  }

  /** The policy it is under, in its cell or in the next one. */
  get policy(): Policy {
    return this.live?.policy ?? policyInForce(this.#parts.policy(), this.#record.asked ?? {});
  }

  /** See `Session.updatePolicy`. What was asked holds in the cells to come as well, also after it was saved. */
  async updatePolicy(change: LiveChange, authority: Authority = "host"): Promise<readonly PolicyChange[]> {
    return (await this.#session()).updatePolicy(change, authority);
  }

  /** @internal For the manager: one that waited in a pool begins its life, under this id. */
  begin(id: string): void {
    const nowMs = this.#parts.now();
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
    return this.#cell.live;
  }

  /** The runner of its cell, or the one that its next cell is expected in. */
  get runner(): string {
    return this.live?.receipt.runner ?? this.#parts.runner();
  }

  get usedMs(): number {
    return this.#record.usedMs;
  }

  /** What came of bringing it back, if it was. */
  get restored(): RestoreReport | undefined {
    return this.#restored;
  }

  get isBusy(): boolean {
    return this.live?.isBusy === true || this.#cell.isStarting || this.#saves.isSaving;
  }

  get state(): SessionState {
    if (this.#cell.isClosed) return "closed";
    return this.live?.isAlive ? "live" : "saved";
  }

  get info(): SessionInfo {
    const { id, createdMs, usedMs, snapshot } = this.#record;
    return {
      ...{ id, state: this.state, isBusy: this.isBusy, createdMs, usedMs, runs: this.#record.runs, snapshot },
      runner: this.runner,
      isPersistent: this.policy.session.persist,
      checkpoints: this.live?.checkpoints ?? [],
      sharers: this.live?.sharers ?? 0,
    };
  }

  /**
   * Starts a run and answers at once: await it for the result, iterate it for the events. It keeps running when its caller
   * goes away; only its own limits, its signal and `interrupt` stop it. What the session refuses rejects the run.
   */
  run(code: string, options: RunOptions = {}): Run {
    return new Run((progress) => this.#runs.start(progress, code, options));
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
    await this.#changeVariables((live) => live.set(name, value));
  }

  /** Forgets every variable and starts a fresh interpreter in the same cell; files stay. */
  async reset(): Promise<void> {
    await this.#changeVariables(async (live) => {
      await live.reset();
      this.#parts.audit?.audit.record({ type: "session.reset", session: this.key });
    });
  }

  /** Reads a file of the host into a variable, if `fs.load` allows it. Large text and bytes do not pass through JSON. */
  async load(path: string, name: string, form: HostFileForm = "text", baseDir?: string): Promise<{ bytes: number }> {
    const { audit } = this.#parts;
    const onDenied = (error: unknown) => audit?.fileDenied(this.key, path, error);
    const file = await loadHostFile(path, form, { policy: this.policy, baseDir, onDenied });
    await this.#session();
    audit?.fileLoaded(this.key, file.path, name, file.data);
    await audit?.settled();
    await this.#changeVariables((live) => live.setEncoded(name, file.format, file.body));
    return { bytes: file.data.byteLength };
  }

  /** Puts a file into the workspace; at most `proc.disk` bytes, and nothing is left of one that is over. */
  async upload(path: string, source: FileSource, signal?: AbortSignal): Promise<{ size: number }> {
    const { audit, store } = this.#parts;
    return uploadFile(await this.#session(), path, source, {
      ...{ store, workspace: this.#record.workspace },
      onPiece: () => this.#touch(),
      audit: audit && { log: audit, session: this.key },
      ...(signal ? { signal } : {}),
    });
  }

  /** The files of its workspace, to read, write, list and remove. */
  async files(): Promise<WorkspaceFiles> {
    const files = filesOf(await this.#session());
    const { audit } = this.#parts;
    return audit ? auditedFiles(files, audit.audit, this.key) : files;
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
    this.#parts.audit?.audit.record({ type: "session.checkpoint", session: this.key, name });
    return checkpoint;
  }

  /** Variables as they were at the checkpoint, which stays; files are as they are now. */
  async rollback(name: string): Promise<Checkpoint> {
    return this.#changeVariables(async (live) => {
      const checkpoint = await live.rollback(name);
      this.#parts.audit?.audit.record({ type: "session.rollback", session: this.key, name });
      return checkpoint;
    });
  }

  /** The checkpoints that `rollback` can go back to. */
  get checkpoints(): readonly Checkpoint[] {
    return this.live?.checkpoints ?? [];
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
    return this.#parts.fork(this.key, id);
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
  history(limit = 100): Promise<HistoryEntry[]> {
    return this.#runs.history(limit);
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
      this.#closing =
        this.state === "closed" && !options.forget ? Promise.resolve() : this.#parts.close(this.key, options);
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
    const { live } = this;
    if (!live) return;
    await live.settle();
    if (this.#saves.isDirty && live.isAlive && live.features.includes("snapshot")) await this.save();
    else if (this.policy.session.persist) await this.#parts.store.write(this.#record);
    if (!this.#saves.isDirty && live.isAlive) await this.#saves.mark(false);
    await this.#cell.release();
  }

  /** @internal Ends the cell; whoever calls later is told why, where it was not their doing. */
  async end(why?: string): Promise<void> {
    const { persist } = this.policy.session;
    this.#saves.stop();
    await this.#cell.close(why === undefined ? sessionClosed(this.id) : sessionExpired(this.id, why, persist));
    await Promise.all([this.#runs.written(), this.#saves.marked]);
  }

  /** @internal Puts the variables of the last save back into a fresh cell, and tells the next result what did not come back. */
  async restoreInto(session: LiveSession): Promise<void> {
    const report = await this.#saves.restoreInto(session);
    if (!report) return;
    this.#restored = report;
    this.#parts.audit?.sessionRestored(
      this.key,
      report.snapshot.run,
      [...report.snapshot.skipped, ...report.failed],
      report.problem,
    );
  }

  #session(): Promise<LiveSession> {
    return this.#cell.session();
  }

  /** Marks the last save as outdated before variables change, and plans the next one. */
  async #changeVariables<Result>(change: (live: LiveSession) => Promise<Result>): Promise<Result> {
    const live = await this.#session();
    await this.#saves.changing();
    const result = await change(live);
    this.#saves.changed();
    return result;
  }

  /** Keeps what was requested of the rules for the cells to come. */
  async #keepRequested(requestedRules: RequestedRules): Promise<void> {
    this.#record = { ...this.#record, asked: requestedRules };
    if (!this.#parts.policy().session.persist) return;
    await this.#saves.settled(); // a save writes the record as it was when it began
    await this.#parts.store.write(this.#record);
  }

  #touch(): void {
    this.#record = { ...this.#record, usedMs: this.#parts.now() };
  }
}
