import { CodecellError } from "../../../lib/errors.ts";
import { printable } from "../../../policy/file/problem.ts";
import type { LiveSession } from "../../live-session.ts";
import type { SnapshotInfo } from "../session-record.ts";
import type { HeldSession, SessionStorage } from "../session-storage.ts";
import { shownReason } from "../shown-reason.ts";
import type { SavedFiles } from "./saved-files.ts";
import { WorkspaceSaves } from "./workspace-saves.ts";

const maxNamed = 5;
/** The list of the saved files is there, but is of no use, now and later. */
const unreadable: ReadonlySet<string> = new Set(["snapshot_damaged", "file_missing"]);

/** The files in a session's saves. Does nothing for a session whose files are in a directory of the host. */
export class SavedWorkspace {
  readonly #store: SessionStorage;
  readonly #key: () => string;
  readonly #saves = new WorkspaceSaves();
  #session: LiveSession | undefined;
  #age = 0;
  /** what the last note said, so that it is not in every result */
  #told = "";

  constructor(store: SessionStorage, key: () => string) {
    this.#store = store;
    this.#key = key;
  }

  /** Stores the files that changed; undefined if they are not the cell's. */
  async save(session: LiveSession, held: HeldSession, last: SnapshotInfo | undefined): Promise<SavedFiles | undefined> {
    const { cellFiles, filesAge, policy } = session;
    if (!cellFiles) return undefined;
    this.#follow(session, last);
    // Not if the record names files that could not be read.
    if (last?.files?.sha256 === this.#saves.sha256) await this.#saves.removeLeftovers(held);
    const files = await this.#saves.save(cellFiles, held, policy.proc.diskBytes);
    // The list may be that of a fresh interpreter, which has no files: it must not become the newest save.
    if (session.filesAge !== filesAge)
      throw new CodecellError("cell_lost", "the interpreter crashed while its files were being saved");
    return files;
  }

  /** Call before the record with the files of the last `save` is written. */
  naming(): void {
    this.#saves.naming();
  }

  /** The record names the files of the last `save`. The next result says which ones it lacks. */
  async written(session: LiveSession, held: HeldSession, last: SnapshotInfo): Promise<void> {
    if (!last.files) return;
    this.#follow(session, last);
    const text = namedText(last.files.skipped, last.files.skippedCount);
    if (text !== this.#told && text !== "") session.addNote(`not all files were saved: ${text}`);
    this.#told = text;
    await this.#saves.written(held);
  }

  /**
   * Puts the files of a save into a fresh cell, and returns whether all are back; if not, the next result says which are missing. Throws
   * if the store cannot be read now: without its files, the session would be saved anew.
   */
  async restore(session: LiveSession, snapshot: SnapshotInfo): Promise<boolean> {
    if (!session.filesStayInCell) return false;
    this.#follow(session, snapshot);
    const { isAll, note } = await this.#putBack(session, snapshot).catch((error: unknown) => {
      if (!(error instanceof CodecellError) || !unreadable.has(error.code)) throw error;
      return { isAll: false, note: `files were not restored: ${error.message}` };
    });
    if (!isAll) session.addNote(note);
    return isAll;
  }

  async #putBack({ cellFiles }: LiveSession, { files, run }: SnapshotInfo): Promise<{ isAll: boolean; note: string }> {
    if (!cellFiles || !files)
      return { isAll: false, note: "files were not restored: they were deleted with the last cell" };
    const readBlob = (sha256: string) => this.#store.readBlob(this.#key(), sha256);
    const failed = await this.#saves.restore(cellFiles, readBlob, files);
    const note = `files were restored from the save after run ${run}`;
    const missing = [...failed, ...files.skipped.filter(({ name }) => !failed.some((one) => one.name === name))];
    if (missing.length === 0) return { isAll: true, note };
    return { isAll: false, note: `${note}, but not all: ${namedText(missing, failed.length + files.skippedCount)}` };
  }

  /** An interpreter that keeps files in its memory loses them in a crash: they come back before its variables. */
  #follow(session: LiveSession, last: SnapshotInfo | undefined): void {
    const isNew = this.#session !== session;
    if (isNew || this.#age !== session.filesAge) this.#saves.lost();
    this.#session = session;
    this.#age = session.filesAge;
    const { recovery } = session.interpreter;
    if (!recovery || !last) return;
    recovery.restoreFiles = async () => {
      this.#follow(session, last);
      const restoring = this.#putBack(session, last).then(({ note }) => note);
      return restoring.catch((error: unknown) => `files were not restored: ${shownReason(error)}`);
    };
  }
}

function namedText(missing: SavedFiles["skipped"], count: number): string {
  const named = missing
    .slice(0, maxNamed)
    .map(({ name, reason }) => `${printable(name, 200)} (${printable(reason, 200)})`);
  const more = count - named.length;
  return [...named, ...(more > 0 ? [`and ${more} more`] : [])].join("; ");
}
