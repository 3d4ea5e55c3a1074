import { createHash } from "node:crypto";
import { readdir, rm, rmdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { writeFileAtomically } from "../../../lib/files/atomic-file.ts";
import type { LivenessLock } from "../../../lib/files/liveness-lock.ts";
import { makeDirectories } from "../../../lib/files/make-directories.ts";
import type { OutputsOfRun } from "../output-line.ts";
import { appendHistory, type HistoryEntry } from "../session-history.ts";
import type { SessionRecord } from "../session-record.ts";
import type { HeldSession, StoredBytes } from "../session-storage.ts";
import { pruneStoredBlobs, writeStoredBlob } from "./stored-blobs.ts";
import { StoredOutputs } from "./stored-outputs.ts";

/** The files in the directory of a session. */
export const fileNames = {
  record: "session.json",
  history: "history.jsonl",
  unsaved: "unsaved",
  blobs: "blobs",
  snapshot: (sha256: string) => `snapshot-${sha256.slice(0, 32)}.bin`,
} as const;

/** The directory of a session, while this process holds its lock. The OS ends the lock with the process. */
export class HeldFiles implements HeldSession {
  readonly id: string;
  readonly #directory: string;
  readonly #lock: LivenessLock;
  #outputs: StoredOutputs | undefined;

  constructor(id: string, directory: string, lock: LivenessLock) {
    this.id = id;
    this.#directory = directory;
    this.#lock = lock;
  }

  async write(record: SessionRecord): Promise<void> {
    await makeDirectories(this.#directory, 0o700);
    try {
      await writeFileAtomically(this.#path(fileNames.record), `${JSON.stringify(record, null, 2)}\n`);
    } catch (error) {
      // A new session without a record would be listed as damaged. A directory with other files in it stays.
      await rmdir(this.#directory).catch(() => {});
      throw error;
    }
  }

  async markUnsaved(isUnsaved: boolean): Promise<void> {
    if (isUnsaved) await writeFile(this.#path(fileNames.unsaved), "", { mode: 0o600 });
    else await rm(this.#path(fileNames.unsaved), { force: true });
  }

  appendHistory(entry: HistoryEntry): Promise<void> {
    return appendHistory(this.#path(fileNames.history), entry);
  }

  appendOutputs(runs: readonly OutputsOfRun[]): Promise<void> {
    this.#outputs ??= new StoredOutputs(this.#directory);
    return this.#outputs.append(runs);
  }

  /** The name is the hash of the bytes: the record that names the older one stays true until it is replaced. */
  async writeSnapshot(data: Uint8Array): Promise<StoredBytes> {
    await makeDirectories(this.#directory, 0o700);
    const sha256 = createHash("sha256").update(data).digest("hex");
    await writeFileAtomically(this.#path(fileNames.snapshot(sha256)), pieces(data));
    return { sha256, bytes: data.byteLength };
  }

  async pruneSnapshots({ snapshot }: SessionRecord): Promise<void> {
    const current = snapshot && fileNames.snapshot(snapshot.sha256);
    const names = await readdir(this.#directory).catch(() => []);
    const old = names.filter((name) => name !== current && (/^snapshot-/.test(name) || name.endsWith(".draft")));
    await Promise.all(old.map((name) => rm(this.#path(name), { force: true })));
  }

  async writeBlob(source: AsyncIterable<Uint8Array>, { maxBytes }: { maxBytes: number }): Promise<StoredBytes> {
    await makeDirectories(this.#path(fileNames.blobs), 0o700);
    return writeStoredBlob(this.#path(fileNames.blobs), source, maxBytes);
  }

  pruneBlobs(kept: ReadonlySet<string>): Promise<void> {
    return pruneStoredBlobs(this.#path(fileNames.blobs), kept);
  }

  async forget(): Promise<void> {
    // The record first: if this process is killed now, the rest is no session any more.
    await rm(this.#path(fileNames.record), { force: true });
    await rm(this.#directory, { recursive: true, force: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#lock[Symbol.asyncDispose]();
  }

  #path(name: string): string {
    return join(this.#directory, name);
  }
}

async function* pieces(data: Uint8Array): AsyncGenerator<Uint8Array> {
  const size = 4 * 1024 * 1024;
  for (let at = 0; at < data.byteLength; at += size) yield data.subarray(at, at + size);
}
