import { CodecellError, messageOf } from "../../lib/errors.ts";
import { diskFailure } from "../../lib/files/disk-failure.ts";
import { isOutOfDescriptors } from "../../lib/files/no-descriptors.ts";
import { SerialQueue } from "../../lib/waiting/serial-queue.ts";
import type { Policy } from "../../policy/schema.ts";
import type { LiveSession } from "../live-session.ts";
import { damagedSnapshot, type SessionRecord, type SnapshotInfo } from "./session-record.ts";
import type { HeldSession, SessionStorage } from "./session-storage.ts";
import { shownReason } from "./shown-reason.ts";
import { readManifest } from "./snapshot-manifest.ts";
import { SavedWorkspace } from "./workspace/saved-workspace.ts";

/** A pause of this length is used for a save. */
const saveAfterMs = 2_000;
/** Under steady use, the longest time until a change is saved: the next run waits for that save. */
const longestUnsavedMs = 10_000;
/** A store that could not be reached is tried again. */
const retryAfterMs = 5_000;
const maxNamed = 20;

/** The result of restoring saved variables in a fresh cell. */
export interface RestoreReport {
  readonly snapshot: SnapshotInfo;
  /** variables that were saved but could not be restored */
  readonly failed: readonly { readonly name: string; readonly reason: string }[];
  /** why nothing could be restored */
  readonly problem: CodecellError | undefined;
  /** the note of the next result, if variables were restored */
  readonly note: string;
}

/** A session, as far as its saves have to do with it. */
export interface SavedSession {
  readonly id: string;
  readonly key: string;
  record: SessionRecord;
  /** what is written of it goes here; throws if this process does not hold it */
  readonly held: HeldSession;
  /** the session in its cell; undefined: no cell has started */
  readonly live: LiveSession | undefined;
}

/** Saves a session's variables to disk and restores them; knows what changed since the last save. */
export class SessionSaves {
  readonly #of: SavedSession;
  readonly #store: SessionStorage;
  readonly #isPersistent: boolean;
  readonly #now: () => number;
  /** counts possible changes of variables, and those that the last save contains */
  #changes = 0;
  #savedChanges = 0;
  readonly #marks = new SerialQueue();
  #isMarked = false;
  #savesByItself = true;
  /** a run killed the cell */
  #isLost = false;
  #timer: NodeJS.Timeout | undefined;
  /** when the first change after the last save happened, by the clock of `performance` */
  #unsavedSince: number | undefined;
  #saving: Promise<SnapshotInfo> | undefined;
  /** the changes that the active save contains; undefined: it has not started, and will contain all of them */
  #savingChanges: number | undefined;
  /** a result said that the store cannot be reached; it says so again after the store was back */
  #hasToldOutage = false;
  /** the files, if only the cell holds them */
  readonly #workspace: SavedWorkspace;

  constructor(of: SavedSession, store: SessionStorage, policy: Policy, now: () => number) {
    this.#of = of;
    this.#store = store;
    this.#workspace = new SavedWorkspace(store, () => of.key);
    this.#isPersistent = policy.session.persist;
    this.#now = now;
  }

  get isSaving(): boolean {
    return this.#saving !== undefined;
  }

  get isDirty(): boolean {
    return this.#changes !== this.#savedChanges;
  }

  /** Call before variables change. The mark on disk tells who opens the session after a kill -9 that the save is outdated. */
  changing(): Promise<unknown> | undefined {
    this.#changes++;
    return this.#isPersistent && !this.#isMarked ? this.mark(true) : undefined;
  }

  mark(isUnsaved: boolean): Promise<unknown> {
    if (!this.#isPersistent || this.#isMarked === isUnsaved) return this.#marks.settled();
    this.#isMarked = isUnsaved;
    return this.#marks
      .run(() => this.#of.held.markUnsaved(isUnsaved))
      .catch((error: unknown) => this.#notMarked(error));
  }

  /** Settles when the mark is written or removed. */
  get marked(): Promise<unknown> {
    return this.#marks.settled();
  }

  changed(): void {
    this.#changes++;
    if (!this.#isPersistent || !this.#savesByItself) return;
    clearTimeout(this.#timer);
    this.#unsavedSince ??= performance.now();
    // Not by a timer: under steady use the next run would have started by then, and the one after it, and so on.
    if (performance.now() - this.#unsavedSince >= longestUnsavedMs) this.#saveNow();
    else this.#timer = setTimeout(() => this.#saveNow(), saveAfterMs).unref();
  }

  #saveNow(): void {
    const { live } = this.#of;
    if (!live?.isAlive || live.isBusy || !this.isWorthSaving(live)) return;
    void this.save(live).catch((error: unknown) => this.#notSaved(error));
  }

  /** Whether the variables are newer than the save. After a crash they may be older, or gone. */
  isWorthSaving(live: LiveSession): boolean {
    return live.stateRun !== undefined && live.stateRun >= (this.#of.record.snapshot?.run ?? 0);
  }

  /** After a loss, the last save is worth more than the current variables: no automatic save replaces it. */
  lost(isCellGone: boolean): void {
    this.#isLost = isCellGone;
    this.#savedChanges = this.#changes;
    clearTimeout(this.#timer);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  /** Writes the variables to disk, and lists those that cannot be saved. The host never interprets the values. */
  save(session: LiveSession): Promise<SnapshotInfo> {
    const going = this.#saving;
    // A save that began before the last change does not contain it.
    if (going && (this.#savingChanges === undefined || this.#savingChanges === this.#changes)) return going;
    this.#savingChanges = undefined;
    const begin = () => this.#save(session);
    const saving = (going ? going.then(begin, begin) : begin()).finally(() => {
      if (this.#saving === saving) this.#saving = undefined;
    });
    this.#saving = saving;
    return saving;
  }

  /** Settles when no save is active. */
  async settled(): Promise<void> {
    await this.#saving?.catch(() => {});
  }

  async #save(session: LiveSession): Promise<SnapshotInfo> {
    const { id, held } = this.#of;
    const { stateRun } = session;
    const changes = this.#changes;
    this.#savingChanges = changes;
    this.#unsavedSince = undefined;
    const data = await session.snapshot();
    // The interpreter died before the snapshot was made, so the snapshot is of an older state than the caller has seen.
    if (stateRun === undefined || session.stateRun === undefined || session.stateRun < stateRun) {
      throw lossBefore(id, session, this.#of.record);
    }
    const manifest = readManifest(data);
    const files = await this.#workspace.save(session, held, this.#of.record.snapshot).catch((error: unknown) => {
      throw error instanceof CodecellError && error.code === "cell_lost" ? error : saveFailed(id, error);
    });
    const stored = await held.writeSnapshot(data).catch((error: unknown) => {
      throw saveFailed(id, error);
    });
    const snapshot: SnapshotInfo = {
      ...stored,
      ...manifest,
      savedMs: this.#now(),
      run: stateRun,
      python: session.pythonVersion,
      runner: session.receipt.runner,
      ...(files && { files }),
    };
    const record = { ...this.#of.record, snapshot, ...unreported(session) };
    this.#workspace.naming();
    await held.write(record).catch((error: unknown) => {
      throw saveFailed(id, error);
    });
    this.#of.record = { ...this.#of.record, snapshot };
    await held.pruneSnapshots(record);
    await this.#workspace.written(session, held, snapshot);
    this.#savedChanges = changes;
    this.#savesByItself = true;
    this.#hasToldOutage = false;
    if (!this.isDirty) await this.mark(false);
    return snapshot;
  }

  /**
   * Restores the variables of the last save in a fresh cell. The next result says what could not be restored. With `filesOnly`, a
   * reset follows, so a save whose variables cannot be loaded does not stand in its way.
   */
  async restoreInto(session: LiveSession, { filesOnly = false } = {}): Promise<RestoreReport | undefined> {
    const { snapshot, unreported: notes = [] } = this.#of.record;
    for (const note of notes) session.addNote(note);
    // The last cell, here or in a process that was killed, ended with unsaved variables.
    const isUnsaved = this.isDirty || this.#isLost;
    const isMarked = !isUnsaved && this.#isPersistent && (await this.#store.isUnsaved(this.#of.key));
    // The mark stays until the next save: if this process is killed too, the next one counts from here.
    if (isMarked) await this.#of.held.write(this.#of.record).catch(unlessRefused);
    const isLost = isUnsaved || isMarked;
    const restoring = snapshot && this.#restore(session, snapshot, { isLost, filesOnly });
    const report = await restoring?.catch((error: unknown) => {
      throw isRefused(error) ? error : restoreFailed(this.#of.id, error);
    });
    // Only now: after a restore that failed, the next cell has the same to tell.
    const { unreported: _, ...record } = this.#of.record;
    this.#of.record = record;
    this.#isLost = false;
    this.#savedChanges = this.#changes;
    if (!report && isLost && !filesOnly)
      session.addNote("its cell exited before the variables were saved: the session starts without them");
    return report;
  }

  /** Throws if the save may be intact: a session that starts without it would be saved over it. */
  async #restore(
    session: LiveSession,
    snapshot: SnapshotInfo,
    { isLost, filesOnly }: { readonly isLost: boolean; readonly filesOnly: boolean },
  ): Promise<RestoreReport | undefined> {
    const hasFiles = await this.#workspace.restore(session, snapshot);
    if (filesOnly) return undefined;
    const note = `variables ${hasFiles ? "and files " : ""}were restored from the save after run ${snapshot.run}`;
    try {
      const data = await this.#store.readSnapshot(this.#of.key, snapshot);
      const failed = await session.restore(data, { run: snapshot.run });
      session.addNote(isLost ? `${note}; later changes are lost` : note);
      tellDifferences(session, snapshot, failed);
      return { snapshot, failed, problem: undefined, note };
    } catch (error) {
      const problem = uselessSave(this.#of.id, error);
      if (problem === undefined) throw error;
      // The session must open, because its workspace is needed even without the variables.
      session.addNote(`${problem.message}; the session starts without its variables`);
      return { snapshot, failed: [], problem, note };
    }
  }

  /**
   * The mark of unsaved variables was not written. With a store that cannot be reached the run goes on, and its result says
   * that nothing is saved; the next run tries again.
   */
  #notMarked(error: unknown): void {
    if (!isRefused(error)) return;
    this.#isMarked = false;
    this.#hasToldOutage = true;
    this.#of.live?.addNote(`this run is not saved, and is lost with its cell: ${shownReason(error)}`);
  }

  /** An automatic save failed: the next result says so. */
  #notSaved(error: unknown): void {
    // A value that kills the interpreter during a save would do so after every run. A crash before the save says nothing.
    const isFromSave = error instanceof CodecellError && error.code === "cell_lost" && !error.details.wasLostBefore;
    if (isFromSave) this.#savesByItself = false;
    // It may be back soon, and nobody may run anything until then.
    const isOut = error instanceof CodecellError && error.code === "service_unavailable";
    if (isOut) this.#timer = setTimeout(() => this.#saveNow(), retryAfterMs).unref();
    if (isOut && this.#hasToldOutage) return;
    this.#hasToldOutage = isOut;
    this.#of.live?.addNote(`the variables could not be saved: ${shownReason(error)}`);
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

/** @internal Notes that another process has to report: this one may close the session before its next result. */
export function unreported({ losses }: LiveSession): Pick<SessionRecord, "unreported"> {
  return { unreported: losses.isUnseen ? losses.notes.slice(0, 40).map((note) => note.slice(0, 2000)) : undefined };
}

/** @internal Refuses to save a state that the caller does not know yet, and reports the loss instead. */
export function lossBefore(id: string, { losses }: LiveSession, { snapshot }: SessionRecord): CodecellError {
  const notes = losses.take().join(" ") || "the interpreter crashed and its variables are lost";
  const kept = snapshot ? `; the save after run ${snapshot.run} is kept` : "";
  return new CodecellError("cell_lost", `session ${id} was not saved: ${notes}${kept}`, {
    hint: "check the variables, then save again",
    details: { wasLostBefore: true },
  });
}

/** Whether the store of sessions could not be reached, or does not take the writes of this process any more. */
function isRefused(error: unknown): error is CodecellError {
  return error instanceof CodecellError && (error.code === "service_unavailable" || error.code === "session_busy");
}

/** A session can be opened even if the disk is full. */
function unlessRefused(error: unknown): void {
  if (isRefused(error)) throw error;
}

/** What is wrong with a save that cannot be restored in this cell, now or later; undefined: it may be intact. */
function uselessSave(id: string, error: unknown): CodecellError | undefined {
  if (!(error instanceof CodecellError)) return undefined;
  // The bytes are those that were saved, but no snapshot: a program in the cell can send anything.
  if (error.code === "variable_unserializable") return damagedSnapshot(id, error.message, error);
  // A runner that cannot restore variables cannot save them either: the save stays.
  return error.code === "snapshot_damaged" || error.code === "not_supported" ? error : undefined;
}

function restoreFailed(id: string, cause: unknown): CodecellError {
  const known = cause instanceof CodecellError ? cause : diskFailure(cause);
  const code = known?.code ?? (isOutOfDescriptors(cause) ? "cell_start_failed" : "internal");
  return new CodecellError(code, `session ${id} could not be restored: ${messageOf(known ?? cause)}`, {
    hint: "its save is unchanged: try again; if it fails again, raise proc.memory or proc.timeout, use another runner, or reset the session to go on without its variables",
    cause,
    details: known?.details ?? {},
  });
}

function saveFailed(id: string, cause: unknown): CodecellError {
  const disk = diskFailure(cause) ?? (isRefused(cause) ? cause : undefined);
  const why = messageOf(disk ?? cause);
  return new CodecellError(disk?.code ?? "internal", `session ${id} could not be saved: ${why}`, {
    hint: `${disk?.hint ?? "save it again"}; the previous save, the cell and the workspace are unchanged`,
    cause,
    details: disk?.details ?? {},
  });
}
