import { lstat } from "node:fs/promises";
import { join } from "node:path";
import type { WorkspaceFiles } from "../../artifacts/workspace-files.ts";
import { CodecellError, messageOf } from "../../lib/errors.ts";
import { openRuntimeDirectory } from "../../lib/files/runtime-directory.ts";
import type { Database } from "../../store/postgres/database.ts";
import { checkSessionId } from "../session-id.ts";
import { FileSessionStore } from "./files/file-session-store.ts";
import { removeOrphans } from "./files/remove-orphans.ts";
import type { HistoryEntry } from "./session-history.ts";
import type { SessionRecord } from "./session-record.ts";
import type { SessionStorage } from "./session-storage.ts";
import { openSavedFiles } from "./stored-workspace.ts";
import { openSavedView } from "./workspace/saved-files-view.ts";

/** A session on disk; `live`: a process has it open now. */
export type StoredSession =
  | { readonly id: string; readonly state: "saved" | "live"; readonly record: SessionRecord }
  | { readonly id: string; readonly state: "damaged"; readonly problem: string };

/** What happened to the files of a removed session; `shared`: another session uses them. */
export type RemovedFiles = "removed" | "shared";

/** The sessions of a state directory or of a database, to list and remove without starting a cell or asking a runner. */
export class StoredSessions implements AsyncDisposable {
  readonly #store: SessionStorage | undefined;
  readonly #runtimeDir: string;

  private constructor(store: SessionStorage | undefined, runtimeDir: string) {
    this.#store = store;
    this.#runtimeDir = runtimeDir;
  }

  /** Those of a database that several gateways share. It has the schema of this version, and is closed with them. */
  static async openShared(
    database: Database,
    options: { stateDir: string; runtimeDir?: string },
  ): Promise<StoredSessions> {
    const { PostgresSessionStore } = await import("./postgres/postgres-session-store.ts");
    const runtimeDir = await openRuntimeDirectory(options.runtimeDir);
    const store = await PostgresSessionStore.open({ database, own: database, stateDir: options.stateDir });
    return new StoredSessions(store, runtimeDir);
  }

  /** A directory without saved sessions is not changed. */
  static async open(options: { stateDir: string; runtimeDir?: string }): Promise<StoredSessions> {
    const exists = await lstat(join(options.stateDir, "sessions")).then(
      () => true,
      () => false,
    );
    const runtimeDir = await openRuntimeDirectory(options.runtimeDir);
    return new StoredSessions(
      exists ? await FileSessionStore.open(options.stateDir, runtimeDir) : undefined,
      runtimeDir,
    );
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
    return store.withOutputs(id, await store.history(id, limit));
  }

  /** The files of its workspace, even while a program writes there. The caller closes them. */
  async files(record: SessionRecord): Promise<WorkspaceFiles> {
    const store = await this.#known(record.id);
    try {
      return await openSavedFiles({ root: store.workspaces.directory, name: record.workspace });
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code !== "ENOENT") throw cause;
      const { snapshot } = record;
      if (snapshot?.files)
        return openSavedView(snapshot, snapshot.files, (sha256, start) => store.readBlob(record.id, sha256, start));
      throw new CodecellError("not_supported", `session ${record.id} has no workspace on this host`, {
        hint: "its files were not saved, or they are in the directory of fs.workspace or --workspace",
        cause,
      });
    }
  }

  /** Removes a session for good, even a damaged one. Throws `session_busy` if a process has it open. */
  async remove(id: string): Promise<{ files: RemovedFiles }> {
    const store = await this.#known(id);
    await using held = await store.lock(id);
    const record = await store.read(id).catch(() => undefined);
    await held.forget();
    if (!record) {
      // A damaged record does not say which workspace was its own: without the record that workspace has no owner.
      await removeOrphans(store, this.#runtimeDir);
      return { files: "removed" };
    }
    if ((await store.namedAmong([record.workspace])).size > 0) return { files: "shared" };
    await store.workspaces.remove(record.workspace);
    return { files: "removed" };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#store?.[Symbol.asyncDispose]();
  }

  async #look(id: string): Promise<StoredSession> {
    try {
      const record = await this.record(id);
      const isLive = await this.#store?.isLocked(id);
      return { id, state: isLive ? "live" : "saved", record };
    } catch (error) {
      return { id, state: "damaged", problem: messageOf(error) };
    }
  }

  async #known(id: string): Promise<SessionStorage> {
    checkSessionId(id);
    if (this.#store && (await this.#store.list(id)).includes(id)) return this.#store;
    const isShared = this.#store?.medium === "postgresql";
    throw new CodecellError(
      "session_unknown",
      `there is no session ${JSON.stringify(id)}${isShared ? " in the database" : ""}`,
      {
        hint: isShared
          ? "`codecell sessions ls` lists the sessions of the database; use --state-dir for those in files, such as those of `codecell run --session`"
          : "`codecell sessions ls` lists the sessions; use --state-dir to read another state directory",
      },
    );
  }
}

function usedMs(session: StoredSession): number {
  return session.state === "damaged" ? 0 : session.record.usedMs;
}
