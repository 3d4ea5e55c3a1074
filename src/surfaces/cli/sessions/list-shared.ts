import type { StoredSession } from "../../../sessions/storage/stored-sessions.ts";

/** The sessions of a database that several gateways share, the last used one first. `live`: a gateway has it open. */
export async function listShared(url: string): Promise<StoredSession[]> {
  const { openDatabase } = await import("../../../store/postgres/open-database.ts");
  const { readSharedSessions } = await import("../../../sessions/storage/postgres/shared-sessions.ts");
  await using database = await openDatabase(url);
  return await readSharedSessions(database);
}
