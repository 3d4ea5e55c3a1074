import { createHash } from "node:crypto";
import { chmod, lstat, open, readdir, readFile, rm, rmdir, stat, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { z } from "zod";
import { CodecellError, messageOf } from "../../lib/errors.ts";
import { writeFileAtomically } from "../../lib/files/atomic-file.ts";
import { makeDirectories } from "../../lib/files/make-directories.ts";
import { removeTree } from "../../lib/files/remove-tree.ts";
import { requestedRulesSchema } from "../../policy/change/live-rules.ts";
import { printable } from "../../policy/file/problem.ts";
import { removeDisk } from "../../runners/linux/disk/image/session-disk.ts";
import { checkSessionId } from "../session-id.ts";
import { appendHistory, type HistoryEntry, readHistory } from "./session-history.ts";
import { StoredOutputs } from "./stored-outputs.ts";

const count = z.int().min(0);

const snapshotSchema = z.object({
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  bytes: count,
  savedMs: count,
  /** the run before it */
  run: count,
  python: z.string(),
  runner: z.string(),
  saved: z.array(z.string()),
  skipped: z.array(z.object({ name: z.string(), reason: z.string() })),
});

const recordSchema = z.object({
  version: z.literal(1),
  id: z.string(),
  /** name of its directory below `workspaces/` */
  workspace: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/),
  createdMs: count,
  usedMs: count,
  runs: count,
  /** rules that were requested for it while it was live */
  asked: requestedRulesSchema.optional(),
  snapshot: snapshotSchema.optional(),
  /** what its last cell lost and no result has reported yet */
  unreported: z.array(z.string().max(2000)).max(40).optional(),
});

/** What is kept of a session on disk, besides its workspace. */
export type SessionRecord = z.output<typeof recordSchema>;
/** The last save of a session's variables: its time, size, and saved and skipped variables. */
export type SnapshotInfo = z.output<typeof snapshotSchema>;

const maxRecordBytes = 4 * 1024 * 1024;

/** Sessions on disk: each has a record, a history and a snapshot. Workspaces are apart, so that cells see nothing else. */
export class SessionStore {
  readonly workspacesDir: string;
  readonly #sessionsDir: string;

  private constructor(root: string) {
    this.#sessionsDir = join(root, "sessions");
    this.workspacesDir = join(root, "workspaces");
  }

  static async open(root: string): Promise<SessionStore> {
    const store = new SessionStore(root);
    // If codecell runs as root, cells have another uid: they may traverse the directory to their workspace, but not list it.
    const passable = process.getuid?.() === 0 ? 0o711 : 0o700;
    await makeDirectories(root, passable);
    const stats = await lstat(root);
    if (!stats.isDirectory() || stats.uid !== process.getuid?.() || (stats.mode & 0o022) !== 0) {
      throw new CodecellError("usage", `${root} is not a directory that only this user can write`, {
        hint: "remove it, or set XDG_STATE_HOME to a private directory",
      });
    }
    await chmod(root, passable);
    await makeDirectories(store.#sessionsDir, 0o700);
    await makeDirectories(store.workspacesDir, passable);
    return store;
  }

  /** The record of a session, or undefined when there is none. A damaged one is an error that names the file. */
  async read(id: string): Promise<SessionRecord | undefined> {
    const path = this.#path(id, "session.json");
    const text = await readBounded(path, maxRecordBytes);
    if (text === undefined) return undefined;
    try {
      const record = recordSchema.parse(JSON.parse(text.toString()));
      // The attack: a copied or edited record opens the workspace and the history of another session, or of another tenant.
      if (record.id !== id) throw new Error(`it belongs to session ${JSON.stringify(printable(record.id))}`);
      return record;
    } catch (error) {
      throw new CodecellError("snapshot_damaged", `the record of session ${id} cannot be read: ${messageOf(error)}`, {
        hint: `its files are unchanged; delete the session with \`codecell sessions rm ${id}\``,
        cause: error,
      });
    }
  }

  async write(record: SessionRecord): Promise<void> {
    const directory = join(this.#sessionsDir, record.id);
    await makeDirectories(directory, 0o700);
    try {
      await writeFileAtomically(this.#path(record.id, "session.json"), `${JSON.stringify(record, null, 2)}\n`);
    } catch (error) {
      // A new session without a record would be listed as damaged. A directory with other files in it stays.
      await rmdir(directory).catch(() => {});
      throw error;
    }
  }

  async list(): Promise<string[]> {
    const names = await readdir(this.#sessionsDir);
    return names.filter((name) => isSessionId(name)).sort();
  }

  /** Names of workspaces that exist, whoever they belong to. */
  listWorkspaces(): Promise<string[]> {
    return readdir(this.workspacesDir);
  }

  /** Removes a session's record, history and snapshot, but not its workspace. */
  async forget(id: string): Promise<void> {
    // The record first: if this process is killed now, the rest is no session any more.
    await rm(this.#path(id, "session.json"), { force: true });
    await rm(join(this.#sessionsDir, id), { recursive: true, force: true });
  }

  /** The uid that owns a workspace. */
  async workspaceOwner(name: string): Promise<number> {
    return (await stat(join(this.workspacesDir, name))).uid;
  }

  async removeWorkspace(name: string): Promise<void> {
    if (await removeDisk({ root: this.workspacesDir, name })) return;
    await removeTree(join(this.workspacesDir, name));
  }

  /** Marks the save as outdated: variables changed since. */
  async markUnsaved(id: string, isUnsaved: boolean): Promise<void> {
    if (isUnsaved) await writeFile(this.#path(id, "unsaved"), "", { mode: 0o600 });
    else await rm(this.#path(id, "unsaved"), { force: true });
  }

  async isUnsaved(id: string): Promise<boolean> {
    return lstat(this.#path(id, "unsaved")).then(
      () => true,
      () => false,
    );
  }

  /** Whether a saved session uses this workspace. An unreadable record may name any workspace. */
  async isNamed(workspace: string): Promise<boolean> {
    for (const id of await this.list()) {
      const record = await this.read(id).catch(() => "damaged" as const);
      if (record === "damaged" || record?.workspace === workspace) return true;
    }
    return false;
  }

  appendHistory(id: string, entry: HistoryEntry): Promise<void> {
    return appendHistory(this.#path(id, "history.jsonl"), entry);
  }

  /** The latest entries, oldest first. */
  history(id: string, limit: number): Promise<HistoryEntry[]> {
    return readHistory(this.#path(id, "history.jsonl"), limit);
  }

  /** The outputs of a session's runs. */
  outputs(id: string): StoredOutputs {
    return new StoredOutputs(join(this.#sessionsDir, checkSessionId(id)));
  }

  /**
   * Stores a snapshot's bytes, which are never interpreted here, under the name of their hash: the record that names the
   * older one stays true until it is replaced.
   */
  async writeSnapshot(id: string, data: Uint8Array): Promise<{ sha256: string; bytes: number }> {
    await makeDirectories(join(this.#sessionsDir, id), 0o700);
    const sha256 = createHash("sha256").update(data).digest("hex");
    await writeFileAtomically(this.#path(id, snapshotName(sha256)), pieces(data));
    return { sha256, bytes: data.byteLength };
  }

  /** Removes snapshots that the record does not name, and drafts of crashed processes. */
  async pruneSnapshots(record: SessionRecord): Promise<void> {
    const current = record.snapshot && snapshotName(record.snapshot.sha256);
    const names = await readdir(join(this.#sessionsDir, record.id)).catch(() => []);
    const old = names.filter((name) => name !== current && (/^snapshot-/.test(name) || name.endsWith(".draft")));
    await Promise.all(old.map((name) => rm(this.#path(record.id, name), { force: true })));
  }

  /** The bytes of a snapshot; throws if they differ from what was saved. */
  async readSnapshot(id: string, info: SnapshotInfo): Promise<Uint8Array> {
    const data = await readFile(this.#path(id, snapshotName(info.sha256))).catch((cause: unknown) => {
      throw damaged(id, "the file cannot be read", cause);
    });
    if (data.byteLength !== info.bytes)
      throw damaged(id, `the file has ${data.byteLength} bytes instead of ${info.bytes}`);
    if (createHash("sha256").update(data).digest("hex") !== info.sha256)
      throw damaged(id, "the checksum does not match");
    return data;
  }

  #path(id: string, name: string): string {
    return join(this.#sessionsDir, checkSessionId(id), name);
  }
}

function snapshotName(sha256: string): string {
  return `snapshot-${sha256.slice(0, 32)}.bin`;
}

function isSessionId(name: string): boolean {
  try {
    return checkSessionId(name) === name;
  } catch {
    return false;
  }
}

function damaged(id: string, why: string, cause?: unknown): CodecellError {
  return new CodecellError("snapshot_damaged", `the saved variables of session ${id} are damaged: ${why}`, {
    hint: "its files are unchanged; the session starts without its variables",
    cause,
  });
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

async function* pieces(data: Uint8Array): AsyncGenerator<Uint8Array> {
  const size = 4 * 1024 * 1024;
  for (let at = 0; at < data.byteLength; at += size) yield data.subarray(at, at + size);
}
