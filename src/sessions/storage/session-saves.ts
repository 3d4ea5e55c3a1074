import { CodecellError, messageOf } from "../../lib/errors.ts";
import { diskFailure } from "../../lib/files/disk-failure.ts";
import { SerialQueue } from "../../lib/serial-queue.ts";
import type { Policy } from "../../policy/schema.ts";
import type { LiveSession } from "../live-session.ts";
import { readManifest } from "./snapshot-manifest.ts";
import type { SessionRecord, SessionStore, SnapshotInfo } from "./store.ts";

const saveAfterMs = 2_000;
const maxNamed = 20;

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

/** The session whose variables are saved, as far as saving has to do with it. */
export interface SavedSession {
  readonly id: string;
  readonly key: string;
  record: SessionRecord;
  /** the session in its cell, if it is there */
  readonly live: LiveSession | undefined;
}

/** Writes a session's variables to disk and puts them back; knows what changed since the last time. */
export class SessionSaves {
  readonly #of: SavedSession;
  readonly #store: SessionStore;
  readonly #isPersistent: boolean;
  readonly #now: () => number;
  /** counts what may have changed variables; what the last save has of it */
  #changes = 0;
  #savedChanges = 0;
  readonly #marks = new SerialQueue();
  #isMarked = false;
  #savesByItself = true;
  /** a run took the cell with it */
  #isLost = false;
  #timer: NodeJS.Timeout | undefined;
  #saving: Promise<SnapshotInfo> | undefined;
  /** what the save that goes on has of the changes; undefined: it has not begun, and gets all of them */
  #savingChanges: number | undefined;

  constructor(of: SavedSession, store: SessionStore, policy: Policy, now: () => number) {
    this.#of = of;
    this.#store = store;
    this.#isPersistent = policy.session.persist;
    this.#now = now;
  }

  get isSaving(): boolean {
    return this.#saving !== undefined;
  }

  get isDirty(): boolean {
    return this.#changes !== this.#savedChanges;
  }

  /** Before variables change: whoever finds the session after a kill -9 is to know that its save is not the last word. */
  changing(): Promise<unknown> | undefined {
    this.#changes++;
    return this.#isPersistent && !this.#isMarked ? this.mark(true) : undefined;
  }

  mark(isUnsaved: boolean): Promise<unknown> {
    if (!this.#isPersistent || this.#isMarked === isUnsaved) return this.#marks.settled();
    this.#isMarked = isUnsaved;
    return this.#marks.run(() => this.#store.markUnsaved(this.#of.key, isUnsaved)).catch(() => {});
  }

  /** Until what marks the save as old is on disk, or off it. */
  get marked(): Promise<unknown> {
    return this.#marks.settled();
  }

  changed(): void {
    this.#changes++;
    if (!this.#isPersistent || !this.#savesByItself) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      const { live } = this.#of;
      if (!live?.isAlive || live.isBusy) return;
      void this.save(live).catch((error: unknown) => this.#notSaved(error));
    }, saveAfterMs).unref();
  }

  /** After a loss the last save is worth more than what is left: nothing goes over it by itself. */
  lost(isCellGone: boolean): void {
    this.#isLost = isCellGone;
    this.#savedChanges = this.#changes;
    clearTimeout(this.#timer);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  /** Writes the variables to disk, one by one; what cannot be saved is named. The host never looks into the values. */
  save(session: LiveSession): Promise<SnapshotInfo> {
    const going = this.#saving;
    // One that began before the last change does not hold it: whoever asks now would lose that.
    if (going && (this.#savingChanges === undefined || this.#savingChanges === this.#changes)) return going;
    this.#savingChanges = undefined;
    const begin = () => this.#save(session);
    const saving = (going ? going.then(begin, begin) : begin()).finally(() => {
      if (this.#saving === saving) this.#saving = undefined;
    });
    this.#saving = saving;
    return saving;
  }

  /** Until no save goes on. */
  async settled(): Promise<void> {
    await this.#saving?.catch(() => {});
  }

  async #save(session: LiveSession): Promise<SnapshotInfo> {
    const { id, key } = this.#of;
    const { runs } = this.#of.record;
    const changes = this.#changes;
    this.#savingChanges = changes;
    const data = await session.snapshot();
    const manifest = readManifest(data);
    const stored = await this.#store.writeSnapshot(key, data).catch((error: unknown) => {
      throw saveFailed(id, error);
    });
    const snapshot: SnapshotInfo = {
      ...stored,
      ...manifest,
      savedMs: this.#now(),
      run: runs,
      python: session.pythonVersion,
      runner: session.receipt.runner,
    };
    const record = { ...this.#of.record, snapshot };
    await this.#store.write(record).catch((error: unknown) => {
      throw saveFailed(id, error);
    });
    this.#of.record = { ...this.#of.record, snapshot };
    await this.#store.pruneSnapshots(record);
    this.#savedChanges = changes;
    this.#savesByItself = true;
    if (!this.isDirty) await this.mark(false);
    return snapshot;
  }

  /** Puts the variables of the last save back into a fresh cell, and tells the next result what did not come back. */
  async restoreInto(session: LiveSession): Promise<RestoreReport | undefined> {
    const { snapshot } = this.#of.record;
    // Its last cell, here or in a process that was killed, ended with variables that nobody saved.
    const isUnsaved = this.isDirty || this.#isLost;
    const isLost = isUnsaved || (this.#isPersistent && (await this.#store.isUnsaved(this.#of.key)));
    this.#isLost = false;
    this.#savedChanges = this.#changes;
    if (!snapshot) {
      if (isLost) session.addNote("its cell exited before the variables were saved: the session starts without them");
      return undefined;
    }
    const note = `variables were restored from the save after run ${snapshot.run}`;
    if (session.features.includes("files"))
      session.addNote("files were not restored: they were deleted with the last cell");
    try {
      const data = await this.#store.readSnapshot(this.#of.key, snapshot);
      const failed = await session.restore(data);
      session.addNote(isLost ? `${note}; later changes are lost` : note);
      tellDifferences(session, snapshot, failed);
      return { snapshot, failed, problem: undefined, note };
    } catch (error) {
      // The workspace is what must not be lost: a session without its variables is better than none.
      const problem = error instanceof CodecellError ? error : new CodecellError("internal", messageOf(error));
      session.addNote(`${problem.message}; the session starts without its variables`);
      return { snapshot, failed: [], problem, note };
    }
  }

  /** A save that nobody asked for failed: the next result says so. */
  #notSaved(error: unknown): void {
    // A value that ends the interpreter which saves it would do so after every run.
    if (error instanceof CodecellError && error.code === "cell_lost") this.#savesByItself = false;
    this.#of.live?.addNote(`the variables could not be saved: ${messageOf(error)}`);
  }
}

function tellDifferences(session: LiveSession, snapshot: SnapshotInfo, failed: RestoreReport["failed"]): void {
  if (snapshot.python !== session.pythonVersion) {
    session.addNote(`they were saved by Python ${snapshot.python}; this is Python ${session.pythonVersion}`);
  }
  const missing = [...snapshot.skipped, ...failed];
  if (missing.length === 0) return;
  const named = missing.slice(0, maxNamed).map(({ name, reason }) => `${name} (${reason})`);
  session.addNote(`not restored: ${named.join("; ")}`);
}

function saveFailed(id: string, cause: unknown): CodecellError {
  const disk = diskFailure(cause);
  const why = messageOf(disk ?? cause);
  return new CodecellError(disk?.code ?? "internal", `session ${id} could not be saved: ${why}`, {
    hint: "the previous save, the cell and the workspace are unchanged",
    cause,
  });
}
