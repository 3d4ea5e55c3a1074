import { lstat } from "node:fs/promises";
import { join } from "node:path";
import type { WorkspaceFiles } from "../../artifacts/workspace-files.ts";
import { CodecellError, messageOf } from "../../lib/errors.ts";
import { isHeld } from "../../lib/files/liveness-lock.ts";
import { openRuntimeDirectory } from "../../lib/files/runtime-directory.ts";
import { checkSessionId } from "../session-id.ts";
import { removeOrphans } from "./remove-orphans.ts";
import type { HistoryEntry } from "./session-history.ts";
import { lockSession, type SessionPlace, sessionLockPath } from "./session-lock.ts";
import { type SessionRecord, SessionStore } from "./store.ts";
import { openSavedFiles } from "./stored-workspace.ts";

/** A session on disk; `live`: a process has it open now. */
export type StoredSession =
  | { readonly id: string; readonly state: "saved" | "live"; readonly record: SessionRecord }
  | { readonly id: string; readonly state: "damaged"; readonly problem: string };

/** What happened to the files of a removed session; `shared`: another session uses them. */
export type RemovedFiles = "removed" | "shared";

/** The sessions of a state directory, to list and remove without starting a cell or asking a runner. */
export class StoredSessions {
  readonly #store: SessionStore | undefined;
  readonly #runtimeDir: string;

  private constructor(store: SessionStore | undefined, runtimeDir: string) {
    this.#store = store;
    this.#runtimeDir = runtimeDir;
  }

  /** A directory without saved sessions is not changed. */
  static async open(options: { stateDir: string; runtimeDir?: string }): Promise<StoredSessions> {
    const exists = await lstat(join(options.stateDir, "sessions")).then(
      () => true,
      () => false,
    );
    const store = exists ? await SessionStore.open(options.stateDir) : undefined;
    return new StoredSessions(store, await openRuntimeDirectory(options.runtimeDir));
  }

  /** Every session, the last used one first. */
  async list(): Promise<StoredSession[]> {
    const ids = (await this.#store?.list()) ?? [];
    const found: StoredSession[] = [];
    for (const id of ids) found.push(await this.#look(id));
    return found.sort((a, b) => usedMs(b) - usedMs(a));
  }

  /** One session, or `session_unknown`. */
  async find(id: string): Promise<StoredSession> {
    await this.#known(id);
    return this.#look(id);
  }

  /** The record of a session; throws `snapshot_damaged` if it is damaged. */
  async record(id: string): Promise<SessionRecord> {
    const store = await this.#known(id);
    const record = await store.read(id);
    if (record) return record;
    throw new CodecellError("snapshot_damaged", `session ${id} has no record`, {
      hint: `delete it with \`codecell sessions rm ${id}\``,
    });
  }

  async history(id: string, limit: number): Promise<HistoryEntry[]> {
    const store = await this.#known(id);
    return store.history(id, limit);
  }

  /** The same with their outputs, as far as these are kept. */
  async runs(id: string, limit: number): Promise<HistoryEntry[]> {
    const store = await this.#known(id);
    return store.outputs(id).read(await store.history(id, limit));
  }

  /** The files of its workspace, even while a program writes there. The caller closes them. */
  async files(record: SessionRecord): Promise<WorkspaceFiles> {
    const store = await this.#known(record.id);
    try {
      return await openSavedFiles({ root: store.workspacesDir, name: record.workspace });
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code !== "ENOENT") throw cause;
      throw new CodecellError("not_supported", `session ${record.id} has no workspace on this host`, {
        hint: "its files are deleted with its cell (wasm runner), or they are in the directory of fs.workspace or --workspace",
        cause,
      });
    }
  }

  /** Removes a session for good, even a damaged one. Throws `session_busy` if a process has it open. */
  async remove(id: string): Promise<{ files: RemovedFiles }> {
    const store = await this.#known(id);
    await using _mine = await lockSession(this.#place(store), id);
    const record = await store.read(id).catch(() => undefined);
    await store.forget(id);
    if (!record) {
      // A damaged record does not say which workspace was its own: without the record that workspace has no owner.
      await removeOrphans(store, this.#runtimeDir);
      return { files: "removed" };
    }
    if (await store.isNamed(record.workspace)) return { files: "shared" };
    await store.removeWorkspace(record.workspace);
    return { files: "removed" };
  }

  async #look(id: string): Promise<StoredSession> {
    try {
      const record = await this.record(id);
      const isLive = this.#store && (await isHeld(sessionLockPath(this.#place(this.#store), id)));
      return { id, state: isLive ? "live" : "saved", record };
    } catch (error) {
      return { id, state: "damaged", problem: messageOf(error) };
    }
  }

  async #known(id: string): Promise<SessionStore> {
    checkSessionId(id);
    if (this.#store && (await this.#store.list()).includes(id)) return this.#store;
    throw new CodecellError("session_unknown", `there is no session ${JSON.stringify(id)}`, {
      hint: "`codecell sessions ls` lists the sessions; use --state-dir to read another state directory",
    });
  }

  #place({ workspacesDir }: SessionStore): SessionPlace {
    return { runtimeDir: this.#runtimeDir, workspacesDir };
  }
}

function usedMs(session: StoredSession): number {
  return session.state === "damaged" ? 0 : session.record.usedMs;
}
