import type { Database, Queries } from "./database.ts";

/** What other gateways are told when the tokens change. It carries nothing: whoever hears it reads them again. */
export const tokensChanged = "codecell_tokens";

export interface TokenRow {
  readonly name: string;
  readonly sha256: string;
  /** a text of JSON */
  readonly record: string;
}

/** The table `codecell.tokens`. Each change raises the version and tells everybody, when it is committed. */
export class TokenRows {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Every request waits for this, so it gives up early. */
  async version(): Promise<string> {
    const text = "select version from codecell.token_version";
    const [row] = await this.#database.query<{ version: string }>(text, [], { timeoutMs: 3_000 });
    return row?.version ?? "";
  }

  async list(limit: number): Promise<TokenRow[]> {
    return this.#database.query<{ name: string; sha256: string; record: string }>(
      "select name, sha256, record::text as record from codecell.tokens order by created_at, name limit $1",
      [limit],
    );
  }

  /** Adds a token; says whether its name and the limit allow it. */
  async add({ name, sha256, record }: TokenRow, limit: number): Promise<"added" | "exists" | "full"> {
    return this.#changing(async (queries) => {
      const [counted] = await queries.query<{ count: string }>("select count(*) from codecell.tokens");
      if (Number(counted?.count) >= limit) return "full";
      const rows = await queries.query(
        "insert into codecell.tokens (name, sha256, record) values ($1, $2, $3::json) on conflict (name) do nothing returning 1",
        [name, sha256, record],
      );
      return rows.length > 0 ? "added" : "exists";
    });
  }

  /** Changes a token; says whether there is one. `edit` gets its record and returns the new one. */
  async replace(name: string, sha256: string, edit: (record: string) => string): Promise<boolean> {
    return this.#changing(async (queries) => {
      const [row] = await queries.query<{ record: string }>(
        "select record::text as record from codecell.tokens where name = $1",
        [name],
      );
      if (!row) return false;
      const values = [name, sha256, edit(row.record)];
      await queries.query("update codecell.tokens set sha256 = $2, record = $3::json where name = $1", values);
      return true;
    });
  }

  async remove(name: string): Promise<boolean> {
    return this.#changing(async (queries) => {
      const rows = await queries.query("delete from codecell.tokens where name = $1 returning 1", [name]);
      return rows.length > 0;
    });
  }

  /** The row of the version is locked first: changes happen one after the other. */
  #changing<Result>(change: (queries: Queries) => Promise<Result>): Promise<Result> {
    return this.#database.transaction(async (queries) => {
      await queries.query("update codecell.token_version set version = version + 1");
      const result = await change(queries);
      await queries.query("select pg_notify($1, '')", [tokensChanged]);
      return result;
    });
  }
}
