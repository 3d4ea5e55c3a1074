import { StoredSessions } from "../../../sessions/storage/stored-sessions.ts";
import type { OptionTable } from "../shell/arguments.ts";
import { type DatabaseFlags, databaseOptions, databaseUrlOf } from "../shell/database-options.ts";
import { type StateFlags, stateDirOf, stateOptions } from "../shell/state-dir.ts";
import type { Terminal } from "../shell/terminal.ts";

/** Options of commands that read what is stored of sessions: where it is. */
export const storedOptions = { ...stateOptions, ...databaseOptions } as const satisfies OptionTable;

export type StoredFlags = StateFlags & DatabaseFlags;

/** Opens the stored sessions for commands that start no cell: those of the database, if there is one, else those in files. */
export async function openStored(flags: StoredFlags, terminal: Terminal): Promise<StoredSessions> {
  const url = await storedUrlOf(flags, terminal);
  if (url === undefined) return openStoredFiles(flags, terminal);
  const { openDatabase } = await import("../../../store/postgres/open-database.ts");
  const database = await openDatabase(url);
  try {
    return await StoredSessions.openShared(database, { stateDir: stateDirOf(flags, terminal) });
  } catch (error) {
    await database[Symbol.asyncDispose]();
    throw error;
  }
}

/** The same for commands about this machine only. */
export function openStoredFiles(flags: StateFlags, terminal: Terminal): Promise<StoredSessions> {
  return StoredSessions.open({ stateDir: stateDirOf(flags, terminal) });
}

/** The database that these commands read. Who names a state directory means the files in it, whatever the environment says. */
export async function storedUrlOf(flags: StoredFlags, terminal: Terminal): Promise<string | undefined> {
  if (flags.database === undefined && flags["state-dir"] !== undefined) return undefined;
  return databaseUrlOf(flags, terminal);
}
