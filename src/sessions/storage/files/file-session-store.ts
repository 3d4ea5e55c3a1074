import { createHash } from "node:crypto";
import { lstat, open, readdir, readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { CodecellError } from "../../../lib/errors.ts";
import { isHeld, takeLock } from "../../../lib/files/liveness-lock.ts";
import { makeDirectories } from "../../../lib/files/make-directories.ts";
import { removeTree } from "../../../lib/files/remove-tree.ts";
import { openRuntimeDirectory } from "../../../lib/files/runtime-directory.ts";
import { checkSessionId } from "../../session-id.ts";
import { type HistoryEntry, lastRunIn, readHistory } from "../session-history.ts";
import {
  checkedRecord,
  damagedSnapshot,
  maxRecordBytes,
  type SessionRecord,
  type SnapshotInfo,
} from "../session-record.ts";
import type { SessionStorage } from "../session-storage.ts";
import { SessionWorkspaces } from "../session-workspaces.ts";
import { fileNames, HeldFiles } from "./held-files.ts";
import { lockSession, sessionLockPath } from "./session-lock.ts";
import { readStoredBlob } from "./stored-blobs.ts";
import { StoredOutputs } from "./stored-outputs.ts";

/** Sessions in a state directory: each has a record, a history and a snapshot. The default, for one machine. */
export class FileSessionStore implements SessionStorage {
  readonly medium = "files";
  readonly workspaces: SessionWorkspaces;
  readonly #sessionsDir: string;
  readonly #runtimeDir: string;
  /** the directory that is removed with this store */
  #temporary: string | undefined;

  private constructor(root: string, workspaces: SessionWorkspaces, runtimeDir: string) {
    this.#sessionsDir = join(root, "sessions");
    this.workspaces = workspaces;
    this.#runtimeDir = runtimeDir;
  }

  /** `runtimeDir`: where the locks are; default: the user's. */
  static async open(root: string, runtimeDir?: string): Promise<FileSessionStore> {
    const locksDir = runtimeDir ?? (await openRuntimeDirectory());
    const store = new FileSessionStore(root, await SessionWorkspaces.open(root), locksDir);
    await makeDirectories(store.#sessionsDir, 0o700);
    return store;
  }

  /** The same in a directory that is removed when the store is disposed. */
  static async openTemporary(root: string, runtimeDir: string): Promise<FileSessionStore> {
    const store = await FileSessionStore.open(root, runtimeDir);
    store.#temporary = root;
    return store;
  }

  async lock(id: string): Promise<HeldFiles> {
    checkSessionId(id);
    return new HeldFiles(id, join(this.#sessionsDir, id), await lockSession(this.#place, id));
  }

  isLocked(id: string): Promise<boolean> {
    return isHeld(sessionLockPath(this.#place, id));
  }

  async read(id: string): Promise<SessionRecord | undefined> {
    const text = await readBounded(this.#path(id, fileNames.record), maxRecordBytes);
    return text && checkedRecord(id, () => JSON.parse(text.toString()));
  }

  async list(prefix = ""): Promise<string[]> {
    const names = await readdir(this.#sessionsDir);
    return names.filter((name) => name.startsWith(prefix) && isSessionId(name)).sort();
  }

  async records(prefix: string): Promise<SessionRecord[]> {
    const ids = await this.list(prefix);
    const records = await Promise.all(ids.map((id) => this.read(id).catch(() => undefined)));
    return records.filter((record) => record !== undefined);
  }

  async namedAmong(workspaces: readonly string[]): Promise<ReadonlySet<string>> {
    const wanted = new Set(workspaces);
    const named = new Set<string>();
    for (const id of await this.list()) {
      const record = await this.read(id).catch(() => "damaged" as const);
      if (record === "damaged") return wanted;
      if (record && wanted.has(record.workspace)) named.add(record.workspace);
      if (named.size === wanted.size) break;
    }
    return named;
  }

  async isUnsaved(id: string): Promise<boolean> {
    return lstat(this.#path(id, fileNames.unsaved)).then(
      () => true,
      () => false,
    );
  }

  history(id: string, limit: number): Promise<HistoryEntry[]> {
    return readHistory(this.#path(id, fileNames.history), limit);
  }

  lastRun(id: string): Promise<number> {
    return lastRunIn(this.#path(id, fileNames.history));
  }

  withOutputs(id: string, entries: readonly HistoryEntry[]): Promise<HistoryEntry[]> {
    return new StoredOutputs(join(this.#sessionsDir, checkSessionId(id))).read(entries);
  }

  async readSnapshot(id: string, info: SnapshotInfo): Promise<Uint8Array> {
    const data = await readFile(this.#path(id, fileNames.snapshot(info.sha256))).catch((error: unknown) => {
      // Any other failure says nothing about the bytes: a process without descriptors, a disk that is not mounted yet.
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
      throw damagedSnapshot(id, "the file is missing", error);
    });
    if (data.byteLength !== info.bytes)
      throw damagedSnapshot(id, `the file has ${data.byteLength} bytes instead of ${info.bytes}`);
    if (createHash("sha256").update(data).digest("hex") !== info.sha256)
      throw damagedSnapshot(id, "the checksum does not match");
    return data;
  }

  readBlob(id: string, sha256: string, start?: number): AsyncIterable<Uint8Array> {
    return readStoredBlob(this.#path(id, fileNames.blobs), sha256, start);
  }

  async removeUnfinished(): Promise<void> {
    const hasNoRecord = async (id: string) => (await this.read(id).catch(() => "damaged")) === undefined;
    for (const id of await this.list()) {
      if (!(await hasNoRecord(id))) continue;
      const mine = await takeLock(sessionLockPath(this.#place, id));
      if (!mine) continue;
      await using held = new HeldFiles(id, join(this.#sessionsDir, id), mine);
      if (await hasNoRecord(id)) await held.forget();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#temporary !== undefined) await removeTree(this.#temporary);
  }

  get #place() {
    return { runtimeDir: this.#runtimeDir, workspacesDir: this.workspaces.directory };
  }

  #path(id: string, name: string): string {
    return join(this.#sessionsDir, checkSessionId(id), name);
  }
}

function isSessionId(name: string): boolean {
  try {
    return checkSessionId(name) === name;
  } catch {
    return false;
  }
}

async function readBounded(path: string, maxBytes: number): Promise<Buffer | undefined> {
  const file = await open(path, "r").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
  if (!file) return undefined;
  try {
    const { size } = await file.stat();
    if (size > maxBytes)
      throw new CodecellError("snapshot_damaged", `${basename(path)} is too large to be a session record`);
    return await file.readFile();
  } finally {
    await file.close();
  }
}
