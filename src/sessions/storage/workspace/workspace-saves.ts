import { createHash } from "node:crypto";
import type { CellFiles } from "../../../kernel/cell-files.ts";
import type { CellFileList } from "../../../kernel/messages.ts";
import { messageOf } from "../../../lib/errors.ts";
import { formatSize } from "../../../policy/format-units.ts";
import type { HeldSession, StoredBytes } from "../session-storage.ts";
import { readContent, UnreadableFile } from "./cell-content.ts";
import { listCell } from "./cell-listing.ts";
import { inParallel } from "./in-parallel.ts";
import { putBack } from "./put-back.ts";
import { readFileList } from "./read-file-list.ts";
import { maxNamedFiles, maxSavedFiles, type SavedFile, type SavedFiles } from "./saved-files.ts";

/**
 * How long the files of a save may take: a minute, and a second for each so many bytes. The attack: a cell that answers each request
 * just in time would hold up the end of its session, and of the gateway, for hours.
 */
const saveMs = 60_000;
const bytesPerSecond = 2 * 1024 * 1024;

type Row = CellFileList["files"][number];
type Missing = SavedFiles["skipped"][number];

/** What is known of a file in the cell: its content has this hash as long as the rest is the same. */
interface KnownFile {
  readonly row: Row;
  readonly sha256: string;
}

/** A save that is stored, but that no record names yet. */
interface Draft {
  readonly info: SavedFiles;
  readonly saved: Map<string, SavedFile>;
  readonly known: Map<string, KnownFile>;
  readonly present: ReadonlySet<string>;
}

/**
 * The files of a session that has no directory of the host: reads what changed since the last save, and puts everything back
 * into a new cell. Content is stored by its hash, so a file that did not change costs nothing.
 */
export class WorkspaceSaves {
  /** the last save, by path */
  #saved = new Map<string, SavedFile>();
  #info: SavedFiles | undefined;
  /** files of this cell whose content is stored */
  #known = new Map<string, KnownFile>();
  /**
   * Saved files that are not in the cell, because it is new, lost them or had no room. Each save keeps them until the program has a
   * file of that name: a save must never be poorer only because a restore failed.
   */
  #absent = new Map<string, SavedFile>();
  #draft: Draft | undefined;
  /** the store may have bytes that no record names: of saves that failed here, or in a process that was killed */
  #hasLeftovers = true;
  /** a record was being written when this was last heard of: it names the draft, or what was saved before */
  #isInDoubt = false;

  /** The list of the last save; undefined: there is none. */
  get sha256(): string | undefined {
    return this.#info?.sha256;
  }

  /**
   * Removes what saves that failed have stored. The attack: a program that changes all its files and makes each save fail at its end
   * would fill the store.
   */
  async removeLeftovers(held: HeldSession): Promise<void> {
    if (!this.#hasLeftovers || this.#isInDoubt) return;
    await held.pruneBlobs(hashesOf(this.#info, this.#saved));
    this.#hasLeftovers = false;
  }

  /** Call before a record with the draft is written: from here on it may have been, whatever the store says. */
  naming(): void {
    this.#isInDoubt = true;
  }

  /** The files are gone with the interpreter, or with the cell. */
  lost(): void {
    this.#known.clear();
    this.#absent = new Map(this.#saved);
  }

  /** Stores what changed. The caller writes the result into the record, and then calls `written`. */
  async save(cell: CellFiles, held: HeldSession, maxBytes: number): Promise<SavedFiles> {
    const { files, leftOut, isIncomplete } = await listCell(cell);
    const skipped: Missing[] = [];
    const kept: { row: Row; entry: SavedFile | undefined }[] = [];
    let bytes = 0;
    for (const row of files) {
      if (bytes + row.size > maxBytes) {
        skipped.push({ name: row.path, reason: `all files together may have ${formatSize(maxBytes)} (proc.disk)` });
        continue;
      }
      bytes += row.size;
      kept.push({ row, entry: undefined });
    }
    const hashes = new Set([...this.#saved.values()].map(({ sha256 }) => sha256));
    const known = new Map<string, KnownFile>();
    const room = { leftBytes: maxBytes - bytes };
    const endMs = performance.now() + saveMs + (bytes / bytesPerSecond) * 1000;
    await inParallel(kept, async (one) => {
      const { row } = one;
      const found = this.#unchanged(row) ?? (await this.#store(cell, held, row, { hashes, skipped, room, endMs }));
      if (found === undefined) return;
      one.entry = { path: row.path, size: found.row.size, sha256: found.sha256 };
      known.set(row.path, found);
    });
    const entries = new Entries(this.#saved, maxBytes);
    for (const { entry } of kept) if (entry) entries.add(entry);
    for (const [index, { name, reason }] of skipped.entries()) {
      const last = this.#saved.get(name);
      if (last && entries.keep(last)) skipped[index] = { name, reason: `${reason}; its last saved content is kept` };
    }
    const present = new Set(files.map(({ path }) => path));
    // An incomplete list does not say that a file was deleted.
    for (const file of isIncomplete ? this.#saved.values() : this.#absent.values()) {
      if (!present.has(file.path) && !entries.keep(file))
        skipped.push({ name: file.path, reason: "it is not in the cell, and newer files took its room" });
    }
    if (isIncomplete)
      skipped.push({ name: "further files", reason: `at most ${maxSavedFiles} files of a session are saved` });
    if (leftOut > 0) skipped.push({ name: "links, special files and unusable names", reason: `${leftOut} left out` });
    const info = await this.#describe(held, entries.byPath, skipped);
    this.#draft = { info, saved: entries.byPath, known, present };
    return info;
  }

  /** The record names what `save` stored: everything else that is stored can go. */
  async written(held: HeldSession): Promise<void> {
    const draft = this.#draft;
    if (draft === undefined) return;
    this.#draft = undefined;
    this.#isInDoubt = false;
    const isSame = draft.info.sha256 === this.#info?.sha256;
    this.#info = draft.info;
    this.#saved = draft.saved;
    this.#known = draft.known;
    for (const path of this.#absent.keys()) if (draft.present.has(path)) this.#absent.delete(path);
    if (!isSame) this.#hasLeftovers = true;
    await this.removeLeftovers(held);
  }

  /**
   * Puts the saved files into a cell that has none of them, and returns those that could not be. Throws if the store cannot be read
   * now: a session that starts without its files would be saved without them.
   */
  async restore(
    cell: CellFiles,
    readBlob: (sha256: string) => AsyncIterable<Uint8Array>,
    info: SavedFiles,
  ): Promise<readonly Missing[]> {
    const list = await readFileList(readBlob(info.sha256));
    this.#info = info;
    this.#saved = new Map(list.map((file) => [file.path, file]));
    this.lost();
    const failed: Missing[] = [];
    await inParallel(list, async (file) => {
      const problem = await putBack(cell, file, () => readBlob(file.sha256));
      if (problem === undefined) this.#absent.delete(file.path);
      else failed.push({ name: file.path, reason: problem });
    });
    for (const row of (await listCell(cell)).files) {
      const file = this.#absent.has(row.path) ? undefined : this.#saved.get(row.path);
      if (file && file.size === row.size) this.#known.set(row.path, { row, sha256: file.sha256 });
    }
    return failed.sort((one, other) => (one.name < other.name ? -1 : 1));
  }

  #unchanged(row: Row): KnownFile | undefined {
    const known = this.#known.get(row.path);
    if (known === undefined || row.version === undefined || known.row.version !== row.version) return undefined;
    return known.row.size === row.size && known.row.modifiedMs === row.modifiedMs ? known : undefined;
  }

  /** Stores one file. A file that changes meanwhile is read again once. */
  async #store(
    cell: CellFiles,
    held: HeldSession,
    row: Row,
    around: { hashes: Set<string>; skipped: Missing[]; room: { leftBytes: number }; endMs: number },
    isSecond = false,
  ): Promise<KnownFile | undefined> {
    const { hashes, skipped, room } = around;
    try {
      const content = await readContent(cell, row.path, around.endMs);
      const { size, modifiedMs, version } = content.file;
      // The attack: a cell that lists small files and sends large ones would fill the disk of the host.
      const grownBytes = Math.max(0, size - row.size);
      if (grownBytes > room.leftBytes) throw new UnreadableFile("it grew while it was being saved");
      room.leftBytes -= grownBytes;
      const { sha256 } =
        content.sha256 !== undefined && hashes.has(content.sha256)
          ? { sha256: content.sha256 }
          : await this.#writeBlob(held, content.pieces(), size);
      hashes.add(sha256);
      // Without a version in the list, the file was written just now: the next save reads it again.
      const isSettled = row.version === version && row.size === size;
      return { row: isSettled ? row : { path: row.path, size, modifiedMs }, sha256 };
    } catch (error) {
      if (!(error instanceof UnreadableFile)) throw error;
      if (error.isGone) return undefined;
      if (!isSecond) return this.#store(cell, held, row, around, true);
      skipped.push({ name: row.path, reason: messageOf(error) });
      return undefined;
    }
  }

  #writeBlob(held: HeldSession, source: AsyncIterable<Uint8Array>, maxBytes: number): Promise<StoredBytes> {
    this.#hasLeftovers = true; // until a record names it
    return held.writeBlob(source, { maxBytes });
  }

  async #describe(held: HeldSession, entries: ReadonlyMap<string, SavedFile>, skipped: Missing[]): Promise<SavedFiles> {
    const list = [...entries.values()].sort((one, other) => (one.path < other.path ? -1 : 1));
    const text = Buffer.from(JSON.stringify(list));
    const sha256 = createHash("sha256").update(text).digest("hex");
    if (sha256 !== this.#info?.sha256) await this.#writeBlob(held, once(text), text.byteLength);
    return {
      sha256,
      count: list.length,
      bytes: bytesOf(list),
      skipped: skipped.slice(0, maxNamedFiles),
      skippedCount: skipped.length,
    };
  }
}

/**
 * The files of a save. What is not in the cell is kept as long as there is room: within `proc.disk`, or what the last save had if that
 * is more. The attack: a program that loses its files again and again would make each save larger than the one before.
 */
class Entries {
  readonly byPath = new Map<string, SavedFile>();
  readonly #maxBytes: number;
  readonly #maxFiles: number;
  #bytes = 0;

  constructor(last: ReadonlyMap<string, SavedFile>, maxBytes: number) {
    this.#maxBytes = Math.max(maxBytes, bytesOf(last.values()));
    this.#maxFiles = Math.max(maxSavedFiles, last.size);
  }

  add(file: SavedFile): void {
    this.byPath.set(file.path, file);
    this.#bytes += file.size;
  }

  /** Adds a file of the last save, if there is room for it. */
  keep(file: SavedFile): boolean {
    if (this.byPath.size >= this.#maxFiles || this.#bytes + file.size > this.#maxBytes) return false;
    this.add(file);
    return true;
  }
}

function hashesOf(info: SavedFiles | undefined, files: ReadonlyMap<string, SavedFile>): Set<string> {
  return new Set([...(info ? [info.sha256] : []), ...[...files.values()].map(({ sha256 }) => sha256)]);
}

function bytesOf(files: Iterable<SavedFile>): number {
  let bytes = 0;
  for (const { size } of files) bytes += size;
  return bytes;
}

async function* once(data: Uint8Array): AsyncGenerator<Uint8Array> {
  yield data;
}
