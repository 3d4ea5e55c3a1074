import { join } from "node:path";
import { removeUnfinished } from "../../artifacts/remove-unfinished.ts";
import type { LivenessLock } from "../../lib/files/liveness-lock.ts";
import type { SessionWorkspace } from "../../runners/runner.ts";
import { sessionUnknown } from "../session-errors.ts";
import { type SessionInfo, savedInfo } from "../session-info.ts";
import { lockSession } from "./session-lock.ts";
import type { SessionRecord, SessionStore } from "./store.ts";

export interface OwnedStoreOptions {
  readonly store: SessionStore;
  readonly runtimeDir: string;
  /** prefix of the workspaces that this codecell makes */
  readonly tag: string;
  /** sessions get no directory on the host */
  readonly filesStayInCell: boolean;
  readonly persists: () => boolean;
  /** wall-clock milliseconds */
  readonly now: () => number;
}

/** What one codecell has on disk for its sessions: locks, records and workspaces. Other processes use the same store. */
export class OwnedStore {
  readonly #options: OwnedStoreOptions;
  readonly #store: SessionStore;
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
    return this.#options.filesStayInCell ? {} : { workspace: { root: this.#store.workspacesDir, name } };
  }

  /** Removes what killed uploads left in a saved workspace. One that cannot be searched is used as it is. */
  async removeUnfinished(workspace: string): Promise<void> {
    if (this.#options.filesStayInCell) return;
    await removeUnfinished(join(this.#store.workspacesDir, workspace)).catch(() => {});
  }

  /** Locks a persistent session: it is open in one process at a time. */
  async lock(id: string): Promise<LivenessLock | undefined> {
    return this.#options.persists() ? this.#lock(id) : undefined;
  }

  /** The record of a persistent session; undefined: nobody saved one. */
  async saved(id: string): Promise<SessionRecord | undefined> {
    return this.#options.persists() ? this.#store.read(id) : undefined;
  }

  /** What is known of a saved session; undefined if its record is missing or damaged. */
  async info(id: string, nextRunner: string): Promise<SessionInfo | undefined> {
    const record = await this.#store.read(id).catch(() => undefined);
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
  async remove(id: string, workspace: string): Promise<void> {
    // Without persistence nothing on disk is ours: the same id may name a session that somebody else saved.
    if (this.#options.persists()) await this.#store.forget(id);
    await this.#removeWorkspace(workspace);
  }

  /** Removes a saved session that is not open here. Throws `session_busy` if another process has it open. */
  async removeSaved(id: string, onRemoved: () => void): Promise<void> {
    await this.assertSaved(id);
    await using _mine = await this.#lock(id);
    // A damaged record names no workspace: its workspace becomes an orphan, which the next start removes.
    const record = await this.#store.read(id).catch(() => undefined);
    await this.#store.forget(id);
    onRemoved();
    if (record) await this.#removeWorkspace(record.workspace);
  }

  async assertSaved(id: string): Promise<void> {
    if (!(await this.#store.list()).includes(id)) throw sessionUnknown(id);
  }

  #lock(id: string): Promise<LivenessLock> {
    return lockSession({ runtimeDir: this.#options.runtimeDir, workspacesDir: this.#store.workspacesDir }, id);
  }

  /** Removes a workspace, unless a fork still uses it, open or saved. */
  async #removeWorkspace(name: string): Promise<void> {
    if (this.#users.has(name)) return;
    if (this.#options.persists() && (await this.#store.isNamed(name))) return;
    await this.#store.removeWorkspace(name);
  }
}
