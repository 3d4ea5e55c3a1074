import type { Database } from "./database.ts";

/** What an operator wants to know of a database; null: it has no tables of codecell yet. */
export interface DatabaseFacts {
  readonly serverVersion: string;
  readonly sessions: number | null;
  readonly tokens: number | null;
}

export async function databaseFacts(database: Database): Promise<DatabaseFacts> {
  const [server] = await database.query<{ version: string; found: string | null }>(
    "select current_setting('server_version') as version, to_regclass('codecell.tokens') as found",
  );
  const serverVersion = server?.version ?? "";
  if (!server?.found) return { serverVersion, sessions: null, tokens: null };
  const [counts] = await database.query<{ sessions: string; tokens: string }>(
    `select (select count(*) from codecell.sessions where record is not null) as sessions,
            (select count(*) from codecell.tokens) as tokens`,
  );
  return { serverVersion, sessions: Number(counts?.sessions), tokens: Number(counts?.tokens) };
}
