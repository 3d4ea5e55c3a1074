import type { DescribedArtifacts } from "../artifacts/artifact.ts";
import { type ChangedFile, type DescribeOptions, describeArtifacts } from "../artifacts/artifacts.ts";
import type { HostFileForm } from "../artifacts/host-file-form.ts";
import type { FileList, FileSource, ListOptions } from "../artifacts/workspace-file.ts";
import type { WorkspaceFiles } from "../artifacts/workspace-files.ts";
import type { Inspection, Variable } from "../kernel/messages.ts";
import type { ValuePreview } from "../kernel/value-preview.ts";
import type { LiveChange } from "../policy/change/live-rules.ts";
import type { Authority, PolicyChange } from "../policy/change/merge.ts";
import type { Policy } from "../policy/schema.ts";
import type { CellUsage } from "../runners/cell-usage.ts";
import type { EnforcementReceipt } from "../runners/receipt.ts";
import { checkFileSource, checkOptions, checkText } from "./caller-arguments.ts";
import { auditedFiles } from "./files/audited-files.ts";
import { loadHostFile } from "./files/load-host-file.ts";
import { noticedFiles } from "./files/noticed-files.ts";
import { filesOf, uploadFile } from "./files/upload-file.ts";
import type { HostFunction } from "./functions/host-function.ts";
import type { Checkpoint } from "./interpreter/checkpoint.ts";
import type { Completions } from "./interpreter/completions.ts";
import type { ReadOptions } from "./interpreter/read-options.ts";
import { nothingToUndo } from "./interpreter/undo-copies.ts";
import { checkVariableName } from "./interpreter/variable-name.ts";
import type { UsageSample } from "./lifecycle/usage-samples.ts";
import { assertUndo, type LiveSession } from "./live-session.ts";
import type { ManagedSession } from "./managed-session.ts";
import { Run } from "./runs/run.ts";
import { type RunOptions, runOptionNames } from "./runs/run-options.ts";
import type { SessionInfo, SessionState } from "./session-info.ts";
import type { HistoryEntry } from "./storage/session-history.ts";
import type { SessionRecord, SnapshotInfo } from "./storage/session-record.ts";
import type { RestoreReport } from "./storage/session-saves.ts";

/** @internal What a session asks of the codecell that manages it. */
export interface SessionManager {
  fork(id: string, newId?: string): Promise<Session>;
  closeSession(id: string, options: { forget?: boolean }): Promise<void>;
}

/**
 * A session: variables, files and history under one id. Its cell starts when a call needs it. What its runner does not
 * support throws `not_supported` with the reason.
 */
export class Session implements AsyncDisposable {
  /** @internal */
  readonly managed: ManagedSession;
  readonly #manager: SessionManager;
  #closing: Promise<void> | undefined;

  /** @internal */
  constructor(managed: ManagedSession, manager: SessionManager) {
    this.managed = managed;
    this.#manager = manager;
  }

  /** Its id, as its callers know it. */
  get id(): string {
    return this.managed.id;
  }

  /** @internal The id that the codecell and the disk use: with the namespace of a tenant. */
  get key(): string {
    return this.managed.key;
  }

  /** @internal */
  get record(): SessionRecord {
    return this.managed.record;
  }

  /** The policy of its cell, or of the next one. */
  get policy(): Policy {
    return this.managed.policy;
  }

  /**
   * Changes network rules, within the policy that the session was opened under. When this returns, the rules are enforced
   * and connections that they do not allow are closed. The change also applies to later cells of the session.
   */
  async updatePolicy(change: LiveChange, authority: Authority = "host"): Promise<readonly PolicyChange[]> {
    return (await this.wake()).updatePolicy(change, authority);
  }

  /** The runner of its cell, or the one that its next cell is expected in. */
  get runner(): string {
    return this.managed.runner;
  }

  /** Milliseconds since 1970 of its last use. */
  get usedMs(): number {
    return this.managed.usedMs;
  }

  /** What was restored from the last save and what was not, if the session was restored. */
  get restored(): RestoreReport | undefined {
    return this.managed.restored;
  }

  get isBusy(): boolean {
    return this.managed.isBusy;
  }

  get state(): SessionState {
    return this.managed.state;
  }

  get info(): SessionInfo {
    return this.managed.info;
  }

  /**
   * Starts a run and returns at once: await it for the result, iterate it for the events. It keeps running if its caller
   * leaves; only its limits, its signal and `interrupt` stop it. If the session refuses the code, the run rejects.
   */
  run(code: string, options: RunOptions = {}): Run {
    return new Run((progress) => {
      checkText(code, "the code of a run");
      checkOptions(options, "session.run", runOptionNames);
      return this.managed.runs.start(progress, code, options);
    });
  }

  /** Names, types, sizes and summaries of its variables. */
  async variables(): Promise<Variable[]> {
    return (await this.wake()).variables();
  }

  /** The value of a variable, or of any Python expression, through JSON. A value over the limit is not sent. */
  async get(expression: string, options: ReadOptions = {}): Promise<unknown> {
    checkText(expression, "the expression");
    return (await this.wake()).get(expression, options);
  }

  /** @internal The same as JSON in UTF-8, which was checked and not parsed. */
  async getJson(expression: string, options: ReadOptions = {}): Promise<Buffer> {
    checkText(expression, "the expression");
    return (await this.wake()).getJson(expression, options);
  }

  /** The bytes of a bytes-like or text variable, without base64. */
  async getBytes(name: string, options: ReadOptions = {}): Promise<Buffer> {
    checkText(name, "the name of a variable");
    return (await this.wake()).getBytes(name, options);
  }

  /** The beginning of a value as text, whatever its size: JSON, or the repr of what JSON cannot hold. */
  async preview(expression: string, options: ReadOptions = {}): Promise<ValuePreview> {
    checkText(expression, "the expression");
    return (await this.wake()).preview(expression, options);
  }

  /**
   * What the code before the cursor can be completed with: names, attributes, keys, files and modules. No code of the session
   * runs. Rejects with `session_busy` while a run is running. `cursor` is an offset in the code; default: its end.
   */
  async complete(code: string, cursor?: number): Promise<Completions> {
    checkText(code, "the code");
    return (await this.wake()).complete(code, cursor);
  }

  /** What is known of a dotted name: type, signature, docstring, source; undefined: there is no such name. */
  async inspect(name: string, options: { readonly source?: boolean } = {}): Promise<Inspection | undefined> {
    checkText(name, "the name");
    return (await this.wake()).inspect(name, options);
  }

  /** Puts a value into a variable: bytes as they are, anything else through JSON. */
  async set(name: string, value: unknown): Promise<void> {
    checkVariableName(name);
    await this.managed.changeVariables((live) => live.set(name, value));
  }

  /** @internal Puts JSON in UTF-8 into a variable. The cell parses it. */
  async setJson(name: string, json: Uint8Array): Promise<void> {
    await this.managed.changeVariables((live) => live.setEncoded(name, "json", json));
  }

  /** Forgets every variable and starts a fresh interpreter in the same cell; files stay. */
  async reset(): Promise<void> {
    await this.managed.reset();
  }

  /** Reads a file of the host into a variable, if `fs.load` allows it. Large text and bytes do not pass through JSON. */
  async load(path: string, name: string, form: HostFileForm = "text", baseDir?: string): Promise<{ bytes: number }> {
    checkText(path, "the path of a file");
    checkVariableName(name);
    const { audit } = this.managed;
    const onDenied = (error: unknown) => audit?.fileDenied(this.key, path, error);
    const file = await loadHostFile(path, form, { policy: this.policy, baseDir, onDenied });
    await this.wake();
    audit?.fileLoaded(this.key, file.path, name, file.data);
    await audit?.settled(this.key);
    await this.managed.changeVariables((live) => live.setEncoded(name, file.format, file.body));
    return { bytes: file.data.byteLength };
  }

  /** Puts a file of at most `proc.disk` bytes into the workspace. Nothing is left of a larger one. */
  async upload(path: string, source: FileSource, signal?: AbortSignal): Promise<{ size: number }> {
    checkText(path, "the path of a file");
    checkFileSource(source);
    const { audit, store, record } = this.managed;
    const live = await this.wake();
    return this.managed.changeFiles(live, () =>
      uploadFile(live, path, source, {
        ...{ store, workspace: record.workspace },
        onPiece: () => this.managed.touch(),
        audit: audit && { log: audit, session: this.key },
        ...(signal ? { signal } : {}),
      }),
    );
  }

  /** The files of its workspace, to read, write, list and remove. */
  async files(): Promise<WorkspaceFiles> {
    const live = await this.wake();
    const files = noticedFiles(filesOf(live), (change) => this.managed.changeFiles(live, change));
    const { audit } = this.managed;
    return audit ? auditedFiles(files, audit.audit, this.key) : files;
  }

  /** Deletes a file of its workspace, or a link itself; never a directory. */
  async removeFile(path: string): Promise<void> {
    checkText(path, "the path of a file");
    const live = await this.wake();
    await (await this.files()).remove(path);
    // The workspace may fit its limit again, and a cell that could not write is replaced by one that can.
    if (!live.isBusy) await live.disk?.afterRun(true);
  }

  /** The files of its workspace, with size and time of the last change. */
  async listFiles(options: ListOptions = {}): Promise<FileList> {
    return (await this.files()).list(options);
  }

  /** The files of its workspace as artifacts, with type and sha256. Their content does not leave the host. */
  async artifacts(options: ListOptions = {}): Promise<DescribedArtifacts> {
    const { files } = await this.listFiles(options);
    return this.describe(files);
  }

  /** @internal Types and digests of files. Their content does not leave the host, so no download is recorded. */
  async describe(listed: readonly ChangedFile[], options: DescribeOptions = {}): Promise<DescribedArtifacts> {
    return describeArtifacts(filesOf(await this.wake()), listed, { maxCount: listed.length }, options);
  }

  /** Freezes a copy of the interpreter under a name; copy-on-write, so it takes milliseconds whatever it holds. */
  async checkpoint(name: string): Promise<Checkpoint> {
    checkText(name, "the name of a checkpoint");
    const checkpoint = await (await this.wake()).checkpoint(name);
    this.managed.lineage.checkpoint(name);
    this.managed.audit?.audit.record({ type: "session.checkpoint", session: this.key, name });
    return checkpoint;
  }

  /** Restores the variables of a checkpoint, which stays. Files do not change. */
  async rollback(name: string): Promise<Checkpoint> {
    checkText(name, "the name of a checkpoint");
    return this.managed.changeVariables(async (live) => {
      const checkpoint = await live.rollback(name);
      this.managed.lineage.rolledBack(name);
      this.managed.audit?.audit.record({ type: "session.rollback", session: this.key, name });
      return checkpoint;
    });
  }

  /** The checkpoints that `rollback` can go back to. */
  get checkpoints(): readonly Checkpoint[] {
    return this.managed.live?.checkpoints ?? [];
  }

  /**
   * Restores the variables from before the last run, as often as `session.undo` of the policy allows. Files do not change. `run`
   * is the run that was undone, `left` how many more can be. Rejects with `nothing_to_undo` if there is none.
   */
  async undo(): Promise<{ readonly run: number; readonly left: number }> {
    const { live } = this.managed;
    if (!live?.isAlive) {
      assertUndo(this.policy);
      throw nothingToUndo(`session ${this.id} has no cell, so it has no run that can be undone`);
    }
    return this.managed.changeVariables(async () => {
      const undone = await live.undo();
      this.managed.lineage.undone(undone.run);
      this.managed.audit?.audit.record({
        type: "session.rollback",
        session: this.key,
        name: `undo of run ${undone.run}`,
      });
      return undone;
    });
  }

  /**
   * Where its variables come from, as a tree: its start, checkpoints, rollbacks, resets, forks, and what was restored after a
   * crash or from a save. Starts no cell. The last 200 are kept, on disk if the policy persists sessions.
   */
  async lineage(): Promise<{
    /** oldest first */
    readonly nodes: readonly {
      readonly id: string;
      /** the node whose state this one descends from; absent: the start */
      readonly parent?: string | undefined;
      readonly kind: "start" | "checkpoint" | "rollback" | "reset" | "fork" | "restored";
      /** of the checkpoint; absent: an undo, or a kind without a name */
      readonly name?: string | undefined;
      /** the last run before it; of the start of a fork: the run of its parent */
      readonly run: number;
      readonly atMs: number;
      /** a fork: the id of the new session; the start of a fork: that of its parent */
      readonly session?: string | undefined;
      /** whether `rollback` can return to it: a checkpoint that still exists */
      readonly canRollBack: boolean;
    }[];
    /** the node that the variables descend from, and the last run since */
    readonly current: { readonly node: string; readonly run: number };
    /** whether older nodes are no longer kept */
    readonly truncated: boolean;
  }> {
    return this.managed.lineage.view(this.checkpoints);
  }

  /** Deletes a checkpoint and frees its memory. */
  async forgetCheckpoint(name: string): Promise<void> {
    checkText(name, "the name of a checkpoint");
    await (await this.wake()).forgetCheckpoint(name);
  }

  /**
   * Lets programs in the session call functions of this process, from its next run on. Each is a Python function with
   * parameters, type hints and a docstring. Forks get the same functions. Disposing the result removes them.
   */
  // biome-ignore lint/suspicious/noExplicitAny: each function has its own input, which its schema checks
  expose(functions: Readonly<Record<string, HostFunction<any>>>): Promise<AsyncDisposable> {
    return this.managed.functions.expose(functions);
  }

  /** @internal The session in its cell, which starts if there is none. */
  wake(): Promise<LiveSession> {
    return this.managed.cell.session();
  }

  /** A second session that starts with this one's variables, in the same cell and workspace. */
  fork(id?: string): Promise<Session> {
    return this.#manager.fork(this.key, id);
  }

  /** What enforces each rule of its policy. */
  async receipt(): Promise<EnforcementReceipt> {
    return (await this.wake()).receipt;
  }

  /** What its cell uses now, as far as the runner can tell. */
  async usage(): Promise<CellUsage> {
    return (await this.wake()).usage();
  }

  /** @internal What its cell used over time, oldest first; empty without a cell. */
  get samples(): readonly UsageSample[] {
    return this.managed.live?.samples.list ?? [];
  }

  /** @internal The last measurement in full; undefined: there was none. */
  get lastUsage(): CellUsage | undefined {
    return this.managed.live?.samples.usage;
  }

  /** @internal Adds a sample of what its cell uses now. Starts no cell: undefined if there is none. */
  async measure(): Promise<UsageSample | undefined> {
    const { live } = this.managed;
    return live?.isAlive ? live.measure() : undefined;
  }

  /** The languages that `run` accepts. */
  async languages(): Promise<readonly string[]> {
    return (await this.wake()).languages;
  }

  /** The version of its Python. */
  async pythonVersion(): Promise<string> {
    return (await this.wake()).pythonVersion;
  }

  /**
   * Its last runs (100, or `limit`), oldest first, with their outputs if asked. They are kept as long as the session, and on disk if the policy
   * persists sessions. Of too many outputs, the latest are kept.
   */
  history(options: number | { readonly limit?: number; readonly outputs?: boolean } = {}): Promise<HistoryEntry[]> {
    return this.managed.runs.history(typeof options === "number" ? { limit: options } : options);
  }

  /** Writes the variables to disk, and lists those that cannot be saved. The host never interprets the values. */
  save(): Promise<SnapshotInfo> {
    return this.managed.save();
  }

  /** Ends its cell. A persistent session is saved and can be opened again, unless `forget` removes it for good. */
  close(options: { forget?: boolean } = {}): Promise<void> {
    if (this.#closing === undefined || options.forget === true) {
      this.#closing =
        this.state === "closed" && !options.forget ? Promise.resolve() : this.#manager.closeSession(this.key, options);
    }
    return this.#closing;
  }

  /** Closes it; twice is safe. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
