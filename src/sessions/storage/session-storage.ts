import type { OutputsOfRun } from "./output-line.ts";
import type { HistoryEntry } from "./session-history.ts";
import type { SessionRecord, SnapshotInfo } from "./session-record.ts";
import type { SessionWorkspaces } from "./session-workspaces.ts";

/** What keeps sessions: files of one machine, or a database that several machines share. */
export type StorageMedium = "files" | "postgresql";

/** Where sessions are kept. Anybody may read; only who holds a session may write what is kept of it. */
export interface SessionStorage extends AsyncDisposable {
  readonly medium: StorageMedium;
  /** directories of sessions on this machine */
  readonly workspaces: SessionWorkspaces;

  /** Takes a session, which one process holds at a time; throws `session_busy` if another one holds it. */
  lock(id: string, options?: LockOptions): Promise<HeldSession>;
  /** Whether a process holds it now. */
  isLocked(id: string): Promise<boolean>;

  /** The record of a session, or undefined when there is none. A damaged one is an error. */
  read(id: string): Promise<SessionRecord | undefined>;
  /** Ids of the saved sessions that start with `prefix`, sorted; damaged ones too. */
  list(prefix?: string): Promise<string[]>;
  /** The records of saved sessions whose ids start with `prefix`, without those that cannot be read. */
  records(prefix: string): Promise<SessionRecord[]>;
  /** Those of the workspaces that a saved session uses. An unreadable record may use any of them. */
  namedAmong(workspaces: readonly string[]): Promise<ReadonlySet<string>>;
  /** Whether variables changed since the last save. */
  isUnsaved(id: string): Promise<boolean>;
  /** The latest entries, oldest first. */
  history(id: string, limit: number): Promise<HistoryEntry[]>;
  /** The highest run number at the end of the history; 0: it is empty. */
  lastRun(id: string): Promise<number>;
  /** The runs with their outputs, as far as these are kept. */
  withOutputs(id: string, entries: readonly HistoryEntry[]): Promise<HistoryEntry[]>;
  /** The bytes of a snapshot; throws if they differ from what was saved. */
  readSnapshot(id: string, info: SnapshotInfo): Promise<Uint8Array>;
  /**
   * The bytes of something that `writeBlob` stored, from `start` on; throws `file_missing`, or `snapshot_damaged` at the end. Only
   * who reads all of them learns of damage: without the bytes before `start` there is nothing to compare.
   */
  readBlob(id: string, sha256: string, start?: number): AsyncIterable<Uint8Array>;

  /** Who had a session that was lost before it was saved; undefined: nobody, or nothing is known of it. Absent: the store cannot tell. */
  lostHolder?(id: string): Promise<PreviousHolder | undefined>;

  /** Removes sessions that a killed process began to create or to remove. */
  removeUnfinished(): Promise<void>;
}

export interface LockOptions {
  /** how many sessions the tenant may have in all processes; only a store that several machines share counts them */
  readonly quota?: number | undefined;
}

/** A session that this process holds. Each write fails once somebody else holds it. Disposing gives it back. */
export interface HeldSession extends AsyncDisposable {
  readonly id: string;
  /** who had it and is gone without giving it back; absent: nobody, or the store cannot tell */
  readonly previous?: PreviousHolder | undefined;
  /** Returns when the record is stored for good. */
  write(record: SessionRecord): Promise<void>;
  /** Marks the save as outdated: variables changed since. */
  markUnsaved(isUnsaved: boolean): Promise<void>;
  appendHistory(entry: HistoryEntry): Promise<void>;
  /** Adds the outputs of runs. The oldest ones go when there are too many. */
  appendOutputs(runs: readonly OutputsOfRun[]): Promise<void>;
  /** Stores a snapshot's bytes, which are never interpreted. The record that names the older one stays true. */
  writeSnapshot(data: Uint8Array): Promise<StoredBytes>;
  /** Removes snapshots that the record does not name, and what crashed processes left of theirs. */
  pruneSnapshots(record: SessionRecord): Promise<void>;
  /** Stores bytes under their hash, for files that are kept with the session. At most `maxBytes`, else `too_large`. */
  writeBlob(source: AsyncIterable<Uint8Array>, options: { maxBytes: number }): Promise<StoredBytes>;
  /** Removes everything that `writeBlob` stored, except for these hashes. */
  pruneBlobs(kept: ReadonlySet<string>): Promise<void>;
  /** Removes the record, history, outputs, snapshots and blobs, but not the workspace. */
  forget(): Promise<void>;
}

export interface PreviousHolder {
  readonly owner: string;
  /** by the store's clock; undefined: not known */
  readonly lostMs: number | undefined;
}

export interface StoredBytes {
  readonly sha256: string;
  readonly bytes: number;
}
