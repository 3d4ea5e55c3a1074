import { CodecellError } from "../../../lib/errors.ts";
import type { BlobRows } from "../../../store/postgres/blob-rows.ts";
import type { HistoryRows } from "../../../store/postgres/history-rows.ts";
import type { Ownership, SessionOwners } from "../../../store/postgres/session-owner.ts";
import type { SessionRows } from "../../../store/postgres/session-rows.ts";
import { blobTooLarge } from "../blob-errors.ts";
import { type OutputsOfRun, outputLine } from "../output-line.ts";
import type { HistoryEntry } from "../session-history.ts";
import { maxRecordBytes, type SessionRecord } from "../session-record.ts";
import type { HeldSession, PreviousHolder, StoredBytes } from "../session-storage.ts";

/** The rows of a session, while its owner is this process. The database refuses each write once it is not. */
export class HeldRows implements HeldSession {
  readonly id: string;
  readonly ownership: Ownership;
  readonly #owners: SessionOwners;
  readonly #sessions: SessionRows;
  readonly #blobs: BlobRows;
  readonly #history: HistoryRows;
  /** bytes of history and outputs since the last look at their total; at first enough for one */
  #addedBytes = Number.POSITIVE_INFINITY;
  #isReleased = false;

  constructor(
    id: string,
    ownership: Ownership,
    owners: SessionOwners,
    rows: { readonly sessions: SessionRows; readonly blobs: BlobRows; readonly history: HistoryRows },
  ) {
    this.id = id;
    this.ownership = ownership;
    this.#owners = owners;
    this.#sessions = rows.sessions;
    this.#blobs = rows.blobs;
    this.#history = rows.history;
  }

  get previous(): PreviousHolder | undefined {
    return this.ownership.previous;
  }

  async write(record: SessionRecord): Promise<void> {
    const text = JSON.stringify(record);
    if (Buffer.byteLength(text) > maxRecordBytes) {
      throw new CodecellError("too_large", `the record of session ${this.id} is larger than 4 MiB`, {
        hint: "it lists the names of variables: delete some",
      });
    }
    const { workspace, usedMs, snapshot } = record;
    await this.#sessions.write(this.id, this.ownership, text, { workspace, usedMs, snapshotBytes: snapshot?.bytes });
  }

  markUnsaved(isUnsaved: boolean): Promise<void> {
    return this.#sessions.markUnsaved(this.id, this.ownership, isUnsaved);
  }

  async appendHistory(entry: HistoryEntry): Promise<void> {
    await this.#added(await this.#history.append(this.id, this.ownership, JSON.stringify(entry)));
  }

  async appendOutputs(runs: readonly OutputsOfRun[]): Promise<void> {
    for (const run of runs) {
      const displays: string[] = [];
      let displayBytes = 0;
      const line = await outputLine(run, async (sha256, data) => {
        displays.push(sha256);
        displayBytes += data.byteLength;
        if (!(await this.#blobs.has(this.id, "display", sha256)))
          await this.#blobs.write(this.id, this.ownership, "display", [data]);
      });
      const row = { run: run.run, atMs: run.atMs, line, displays, displayBytes };
      await this.#added(await this.#history.appendOutput(this.id, this.ownership, row));
    }
  }

  writeSnapshot(data: Uint8Array): Promise<StoredBytes> {
    return this.#blobs.write(this.id, this.ownership, "snapshot", [data]);
  }

  async pruneSnapshots({ snapshot }: SessionRecord): Promise<void> {
    await this.#blobs.prune(this.id, this.ownership, "snapshot", snapshot ? [snapshot.sha256] : []);
  }

  writeBlob(source: AsyncIterable<Uint8Array>, { maxBytes }: { maxBytes: number }): Promise<StoredBytes> {
    return this.#blobs.write(this.id, this.ownership, "file", bounded(source, maxBytes));
  }

  async pruneBlobs(kept: ReadonlySet<string>): Promise<void> {
    await this.#blobs.prune(this.id, this.ownership, "file", [...kept]);
  }

  async forget(): Promise<void> {
    await this.#sessions.forget(this.id, this.ownership);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isReleased) return;
    this.#isReleased = true;
    await this.#owners.release(this.id, this.ownership);
  }

  async #added(bytes: number): Promise<void> {
    this.#addedBytes += bytes;
    if (!this.#history.isDue(this.#addedBytes)) return;
    this.#addedBytes = 0;
    await this.#history.prune(this.id, this.ownership);
  }
}

async function* bounded(source: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const piece of source) {
    bytes += piece.byteLength;
    if (bytes > maxBytes) throw blobTooLarge(maxBytes);
    yield piece;
  }
}
