import { Cleanup } from "../../lib/cleanup.ts";
import type { Logger } from "../../lib/log/logger.ts";
import type { Database } from "../../store/postgres/database.ts";
import type { SessionOwners } from "../../store/postgres/session-owner.ts";
import { assertReachable } from "./files/assert-reachable.ts";
import { FileSessionStore } from "./files/file-session-store.ts";
import { ownState } from "./files/remove-orphans.ts";
import type { SessionStorage } from "./session-storage.ts";

export interface StorageOptions {
  readonly stateDir: string;
  readonly runtimeDir: string;
  /** of this codecell: names what only it uses */
  readonly tag: string;
  readonly logger: Logger;
  /** sessions outlive this process */
  readonly mustPersist: boolean;
  /** cells mount directories of this machine */
  readonly hasWorkspaces: boolean;
  /** a URL, or a database that the caller closes; absent: sessions are kept in files */
  readonly database: string | Database | undefined;
  readonly owners: SessionOwners | undefined;
}

/** Opens the store of sessions: the database, or the files of the state directory. */
export async function openSessionStorage(options: StorageOptions): Promise<SessionStorage> {
  return options.database === undefined ? openFiles(options) : openPostgres(options, options.database);
}

/** If nothing has to outlive this process, a state directory that cannot be used is no error. */
async function openFiles(options: StorageOptions): Promise<SessionStorage> {
  const { stateDir, runtimeDir, tag, logger } = options;
  try {
    const store = await FileSessionStore.open(stateDir, runtimeDir);
    if (options.hasWorkspaces) await assertReachable(store.workspaces.directory);
    return store;
  } catch (error) {
    if (options.mustPersist) throw error;
    logger.warn("the state directory is unavailable; session files are kept elsewhere", { stateDir, error });
    return FileSessionStore.openTemporary(ownState(runtimeDir, tag), runtimeDir);
  }
}

/** Loaded here only: most people keep their sessions in files. */
async function openPostgres(options: StorageOptions, given: string | Database): Promise<SessionStorage> {
  const { stateDir, logger, owners } = options;
  const { PostgresSessionStore } = await import("./postgres/postgres-session-store.ts");
  const { openDatabase } = await import("../../store/postgres/open-database.ts");
  await using cleanup = new Cleanup();
  const database = typeof given === "string" ? await openDatabase(given, { logger }) : given;
  const own = typeof given === "string" ? database : undefined;
  cleanup.defer(() => own?.[Symbol.asyncDispose]());
  const store = await PostgresSessionStore.open({ database, own, stateDir, logger, owners });
  cleanup.defer(() => store[Symbol.asyncDispose]());
  if (options.hasWorkspaces) await assertReachable(store.workspaces.directory);
  cleanup.move(); // the store closes its own database
  return store;
}
