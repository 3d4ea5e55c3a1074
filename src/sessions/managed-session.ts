import type { DecodedHostFile, HostFileForm } from "../artifacts/decode-host-file.ts";
import { decodeHostFile } from "../artifacts/decode-host-file.ts";
import { readHostFile } from "../artifacts/host-file.ts";
import type { FileList, ListOptions } from "../artifacts/list-files.ts";
import type { WorkspaceFiles } from "../artifacts/workspace-files.ts";
import type { FileSource } from "../artifacts/write-file.ts";
import type { Variable } from "../kernel/messages.ts";
import { CodecellError, messageOf } from "../lib/errors.ts";
import type { Policy } from "../policy/schema.ts";
import type { Run, RunOptions, RunResult } from "./run.ts";
import type { Checkpoint, Session } from "./session.ts";
import { readManifest } from "./snapshot-manifest.ts";
import type { HistoryEntry, SessionRecord, SessionStore, SnapshotInfo } from "./store.ts";

const saveAfterMs = 2_000;
const maxLoadBytes = 256 * 1024 * 1024;
/** Forms that are taken apart on the host, where a large one would hold up everybody else. */
const maxParsedBytes = 32 * 1024 * 1024;

/** Where a session is: in a cell, on disk, or over. */
export type SessionState = "live" | "saved" | "closed";

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

/** What came of putting saved variables into a fresh cell. */
export interface RestoreReport {
  readonly snapshot: SnapshotInfo;
  /** saved, and yet not back */
  readonly failed: readonly { readonly name: string; readonly reason: string }[];
  /** why nothing came back at all */
  readonly problem: CodecellError | undefined;
  /** the sentence about it in the next result's notes, when variables came back */
  readonly note: string;
}

export interface ManagedRunOptions extends RunOptions {
  /** what to do while another run goes on; default: refuse with `session_busy` */
  readonly whenBusy?: "refuse" | "queue";
}

export interface ManagedSessionParts {
  readonly record: SessionRecord;
  readonly policy: Policy;
  readonly runner: string;
  readonly store: SessionStore;
  /** wall-clock milliseconds */
  readonly now: () => number;
  /** makes a cell for it, from its saved state where there is one */
  readonly revive: (session: ManagedSession) => Promise<Session>;
}

/** A session with an id, a life on disk and a cell that comes when it is needed. */
export class ManagedSession {
  readonly policy: Policy;
  readonly #store: SessionStore;
  readonly #now: () => number;
  readonly #revive: (session: ManagedSession) => Promise<Session>;
  readonly #runner: string;
  #record: SessionRecord;
  #live: Session | undefined;
  #reviving: Promise<Session> | undefined;
  #queue: Promise<unknown> = Promise.resolve();
  #restored: RestoreReport | undefined;
  #isDirty = false;
  #isClosed = false;
  #saving: Promise<SnapshotInfo> | undefined;
  #saveTimer: NodeJS.Timeout | undefined;

  constructor(parts: ManagedSessionParts, live?: Session) {
    this.#record = parts.record;
    this.policy = parts.policy;
    this.#runner = parts.runner;
    this.#store = parts.store;
    this.#now = parts.now;
    this.#revive = parts.revive;
    this.#live = live;
  }

  get id(): string {
    return this.#record.id;
  }

  get record(): SessionRecord {
    return this.#record;
  }

  get usedMs(): number {
    return this.#record.usedMs;
  }

  /** What came of bringing it back, if it was. */
  get restored(): RestoreReport | undefined {
    return this.#restored;
  }

  get isBusy(): boolean {
    return this.#live?.isBusy === true || this.#reviving !== undefined || this.#saving !== undefined;
  }

  get state(): SessionState {
    if (this.#isClosed) return "closed";
    return this.#live?.isAlive ? "live" : "saved";
  }

  get info(): SessionInfo {
    const { id, createdMs, usedMs, snapshot } = this.#record;
    return {
      ...{ id, state: this.state, isBusy: this.isBusy, createdMs, usedMs, runs: this.#record.runs, snapshot },
      runner: this.#runner,
      isPersistent: this.policy.session.persist,
      checkpoints: this.#live?.checkpoints ?? [],
      sharers: this.#live?.sharers ?? 0,
    };
  }

  /** Starts a run. It goes on when its caller goes away; only its own limits and `interrupt` end it. */
  async run(code: string, options: ManagedRunOptions = {}): Promise<Run> {
    const { whenBusy = "refuse", ...runOptions } = options;
    if (whenBusy === "queue") await this.#turn();
    const session = await this.#session();
    const run = session.run(code, runOptions);
    this.#queue = run.result.catch(() => {});
    void run.result.then(
      (result) => this.#afterRun(code, options.language ?? "python", result),
      () => {},
    );
    return run;
  }

  async variables(): Promise<Variable[]> {
    return (await this.#session()).variables();
  }

  async get(expression: string, options: { timeoutMs?: number } = {}): Promise<unknown> {
    return (await this.#session()).get(expression, options);
  }

  async getBytes(name: string): Promise<Buffer> {
    return (await this.#session()).getBytes(name);
  }

  async set(name: string, value: unknown): Promise<void> {
    await (await this.#session()).set(name, value);
    this.#changed();
  }

  async reset(): Promise<void> {
    await (await this.#session()).reset();
    this.#changed();
  }

  /** Reads a file of the host into a variable, if `fs.load` allows it. Large text and bytes do not pass through JSON. */
  async load(path: string, name: string, form: HostFileForm = "text", baseDir?: string): Promise<{ bytes: number }> {
    const maxBytes = form === "text" || form === "bytes" ? maxLoadBytes : maxParsedBytes;
    const file = await readHostFile(path, this.policy, { maxBytes, baseDir });
    const { format, body }: DecodedHostFile = decodeHostFile(file.data, form);
    await (await this.#session()).setEncoded(name, format, body);
    this.#changed();
    return { bytes: file.data.byteLength };
  }

  /** Puts a file into the workspace; at most `proc.disk` bytes, and nothing is left of one that is over. */
  async upload(path: string, source: FileSource, signal?: AbortSignal): Promise<{ size: number }> {
    const session = await this.#session();
    const ownerUid = await this.#workspaceOwner();
    const options = { maxBytes: this.policy.proc.diskBytes, ...(signal ? { signal } : {}), ...ownerUid };
    return filesOf(session).write(path, source, options);
  }

  async files(): Promise<WorkspaceFiles> {
    return filesOf(await this.#session());
  }

  async listFiles(options: ListOptions = {}): Promise<FileList> {
    return (await this.files()).list(options);
  }

  async checkpoint(name: string): Promise<Checkpoint> {
    return (await this.#session()).checkpoint(name);
  }

  async rollback(name: string): Promise<Checkpoint> {
    const checkpoint = await (await this.#session()).rollback(name);
    this.#changed();
    return checkpoint;
  }

  async forgetCheckpoint(name: string): Promise<void> {
    await (await this.#session()).forgetCheckpoint(name);
  }

  /** For the manager: the cell's session itself. */
  live(): Promise<Session> {
    return this.#session();
  }

  history(limit = 100): Promise<HistoryEntry[]> {
    return this.#store.history(this.id, limit);
  }

  /** Writes the variables to disk, one by one; what cannot be saved is named. The host never looks into the values. */
  save(): Promise<SnapshotInfo> {
    this.#saving ??= this.#save().finally(() => {
      this.#saving = undefined;
    });
    return this.#saving;
  }

  /** Saves what changed and gives the cell up; the next call brings it back. */
  async suspend(): Promise<void> {
    clearTimeout(this.#saveTimer);
    const live = this.#live;
    if (!live) return;
    if (this.#isDirty && live.isAlive && live.features.includes("snapshot")) await this.save();
    else if (this.policy.session.persist) await this.#store.write(this.#record);
    this.#live = undefined;
    await live.close();
  }

  /** Ends the cell; nothing more can be called. */
  async end(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#saveTimer);
    await this.#reviving?.catch(() => {});
    await this.#live?.close();
  }

  /** Puts the variables of the last save back into a fresh cell, and tells the next result what did not come back. */
  async restoreInto(session: Session): Promise<void> {
    const { snapshot } = this.#record;
    if (!snapshot) return;
    const note = `variables were restored from the save after run ${snapshot.run}`;
    try {
      const data = await this.#store.readSnapshot(this.id, snapshot);
      const failed = await session.restore(data);
      this.#restored = { snapshot, failed, problem: undefined, note };
      session.addNote(note);
      if (snapshot.python !== session.pythonVersion) {
        session.addNote(`they were saved by Python ${snapshot.python}, and this is ${session.pythonVersion}`);
      }
      const missing = [...snapshot.skipped, ...failed];
      if (missing.length > 0)
        session.addNote(`did not come back: ${missing.slice(0, 20).map(nameAndReason).join("; ")}`);
    } catch (error) {
      // The workspace is what must not be lost: a session without its variables is better than none.
      const problem = error instanceof CodecellError ? error : new CodecellError("internal", messageOf(error));
      this.#restored = { snapshot, failed: [], problem, note };
      session.addNote(`${problem.message}; the session starts without its variables`);
    }
  }

  async #session(): Promise<Session> {
    if (this.#isClosed) throw new CodecellError("session_closed", `session ${this.id} is closed`);
    this.#record = { ...this.#record, usedMs: this.#now() };
    if (this.#live?.isAlive) return this.#live;
    this.#reviving ??= this.#revive(this).finally(() => {
      this.#reviving = undefined;
    });
    this.#live = await this.#reviving;
    return this.#live;
  }

  /** Waits for the run before, so that callers who queue go one after the other. */
  async #turn(): Promise<void> {
    let before: Promise<unknown>;
    do {
      before = this.#queue;
      await before;
    } while (before !== this.#queue);
  }

  #changed(): void {
    this.#isDirty = true;
    if (!this.policy.session.persist) return;
    clearTimeout(this.#saveTimer);
    this.#saveTimer = setTimeout(() => {
      if (!this.#live?.isBusy) void this.save().catch(() => {});
    }, saveAfterMs).unref();
  }

  #unchanged(): void {
    this.#isDirty = false;
    clearTimeout(this.#saveTimer);
  }

  async #afterRun(code: string, language: string, result: RunResult): Promise<void> {
    this.#record = { ...this.#record, runs: this.#record.runs + 1, usedMs: this.#now() };
    // After a loss the last save is worth more than what is left: nothing goes over it by itself.
    if (result.state === "lost") this.#unchanged();
    else this.#changed();
    if (!this.policy.session.persist) return;
    const { status, durationMs } = result;
    const entry = { run: this.#record.runs, atMs: this.#record.usedMs, language, code, status, durationMs };
    await this.#store.appendHistory(this.id, entry).catch(() => {});
  }

  async #save(): Promise<SnapshotInfo> {
    const session = await this.#session();
    const data = await session.snapshot();
    const manifest = readManifest(data);
    const stored = await this.#store.writeSnapshot(this.id, data);
    const snapshot: SnapshotInfo = {
      ...stored,
      ...manifest,
      savedMs: this.#now(),
      run: this.#record.runs,
      python: session.pythonVersion,
      runner: session.receipt.runner,
    };
    this.#record = { ...this.#record, snapshot };
    await this.#store.write(this.#record);
    await this.#store.pruneSnapshots(this.#record);
    this.#isDirty = false;
    return snapshot;
  }

  async #workspaceOwner(): Promise<{ ownerUid?: number }> {
    if (process.getuid?.() !== 0) return {};
    return { ownerUid: await this.#store.workspaceOwner(this.#record.workspace) };
  }
}

function nameAndReason({ name, reason }: { name: string; reason: string }): string {
  return `${name} (${reason})`;
}

function filesOf(session: Session): WorkspaceFiles {
  if (session.files) return session.files;
  throw new CodecellError("not_supported", `the ${session.receipt.runner} runner keeps its files to itself`, {
    hint: "read and write them from code, or use the process runner",
  });
}
