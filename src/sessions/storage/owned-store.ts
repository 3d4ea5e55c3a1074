import { join } from "node:path";
import { removeUnfinished } from "../../artifacts/remove-unfinished.ts";
import { CodecellError } from "../../lib/errors.ts";
import type { SessionWorkspace } from "../../runners/runner.ts";
import { sessionLost, sessionUnknown } from "../session-errors.ts";
import { type SessionInfo, savedInfo } from "../session-info.ts";
import type { SessionRecord } from "./session-record.ts";
import type { HeldSession, LockOptions, SessionStorage } from "./session-storage.ts";

export interface OwnedStoreOptions {
  readonly store: SessionStorage;
  /** prefix of the workspaces that this codecell makes */
  readonly tag: string;
  /** sessions get no directory on the host */
  readonly filesStayInCell: boolean;
  readonly persists: () => boolean;
  /** wall-clock milliseconds */
  readonly now: () => number;
}

/** What one codecell keeps for its sessions: locks, records and workspaces. Other processes use the same store. */
export class OwnedStore {
  readonly #options: OwnedStoreOptions;
  readonly #store: SessionStorage;
  /** how many open sessions use a workspace */
  readonly #users = new Map<string, number>();
  #made = 0;

  constructor(options: OwnedStoreOptions) {
    this.#options = options;
    this.#store = options.store;
  }

  /** A name that no other workspace has. */
  newWorkspace(): string {
    return `${this.#options.tag}-${++this.#made}`;
  }

  newRecord(id: string, workspace: string): SessionRecord {
    const now = this.#options.now();
    return { version: 1, id, workspace, createdMs: now, usedMs: now, runs: 0, snapshot: undefined };
  }

  /** The directory of a workspace on the host, for a cell to mount. */
  mount(name: string): { workspace?: SessionWorkspace } {
    return this.#options.filesStayInCell ? {} : { workspace: { root: this.#store.workspaces.directory, name } };
  }

  /** Whether the files of a saved session are on another machine. In files, a session never leaves its machine. */
  async isElsewhere(workspace: string): Promise<boolean> {
    return this.#store.medium !== "files" && !(await this.#store.workspaces.has(workspace));
  }

  /** Removes what killed uploads left in a saved workspace. One that cannot be searched is used as it is. */
  async removeUnfinished(workspace: string): Promise<void> {
    if (this.#options.filesStayInCell) return;
    await removeUnfinished(join(this.#store.workspaces.directory, workspace)).catch(() => {});
  }

  /** Whether other machines use the same store: then each session that is open is in it, also one that is never saved. */
  get isShared(): boolean {
    return this.#store.medium === "postgresql";
  }

  /** Locks a session that others can find: it is open in one process at a time. */
  async lock(id: string, options?: LockOptions): Promise<HeldSession | undefined> {
    return this.#options.persists() || this.isShared ? this.#store.lock(id, options) : undefined;
  }

  /** The record of a persistent session; undefined: nobody saved one. */
  async saved(id: string): Promise<SessionRecord | undefined> {
    const record = this.#options.persists() ? await this.#store.read(id) : undefined;
    if (!record) return undefined;
    const { isEnded, ...saved } = record;
    return { ...saved, runs: await this.#lastRun(saved, isEnded) };
  }

  /**
   * The last number that a run may have had: no number is given twice. A process that was killed did not write its record; its
   * history has the runs that ended, and one more may have begun.
   */
  async #lastRun({ id, runs }: SessionRecord, isEnded = false): Promise<number> {
    const [last, isUnsaved] = await Promise.all([this.#store.lastRun(id), this.#store.isUnsaved(id)]);
    return Math.max(runs, last) + (isUnsaved && !isEnded ? 1 : 0);
  }

  /** What is known of a saved session; undefined if its record is missing or damaged. */
  async info(id: string, nextRunner: string): Promise<SessionInfo | undefined> {
    const record = await this.#store.read(id).catch((error: unknown) => {
      // A store that cannot be read now says nothing about the session.
      if (error instanceof CodecellError && error.code === "snapshot_damaged") return undefined;
      throw error;
    });
    return record && savedInfo(id, record, nextRunner);
  }

  use(workspace: string): void {
    this.#users.set(workspace, (this.#users.get(workspace) ?? 0) + 1);
  }

  leave(workspace: string): void {
    const left = (this.#users.get(workspace) ?? 1) - 1;
    if (left > 0) this.#users.set(workspace, left);
    else this.#users.delete(workspace);
  }

  /** Removes a session that is no longer open. */
  async remove(held: HeldSession | undefined, workspace: string): Promise<void> {
    // Without persistence nothing is held or ours: the same id may name a session that somebody else saved.
    await held?.forget();
    await this.removeWorkspace(workspace);
  }

  /** Removes a saved session that is not open here. Throws `session_busy` if another process has it open. */
  async removeSaved(id: string, onRemoved: () => void): Promise<void> {
    await this.assertSaved(id);
    await using held = await this.#store.lock(id);
    // A damaged record names no workspace: its workspace becomes an orphan, which the next start removes.
    const record = await this.#store.read(id).catch(() => undefined);
    await held.forget();
    onRemoved();
    if (record) await this.removeWorkspace(record.workspace);
  }

  async assertSaved(id: string): Promise<void> {
    if (!(await this.#store.list(id)).includes(id)) throw await this.missing(id);
  }

  /** Why there is no session with this id: nobody created it, or it was lost with the gateway that had it. */
  async missing(id: string): Promise<CodecellError> {
    const lost = await this.#store.lostHolder?.(id);
    return lost ? sessionLost(id, lost) : sessionUnknown(id);
  }

  /** Removes a workspace, unless a fork still uses it, open or saved. */
  async removeWorkspace(name: string): Promise<void> {
    if (this.#users.has(name)) return;
    if (this.#options.persists() && (await this.#store.namedAmong([name])).size > 0) return;
    await this.#store.workspaces.remove(name);
  }
}
