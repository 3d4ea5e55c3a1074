import { ownerIsAlive, type PreviousOwner } from "./acquire-session.ts";
import type { Database } from "./database.ts";
import { lostOwnership } from "./database-errors.ts";
import { tellGateways } from "./session-news.ts";
import type { Ownership } from "./session-owner.ts";

/** What is queried of a record; the rest of it is nobody's business here. */
export interface RecordColumns {
  readonly workspace: string;
  readonly usedMs: number;
  readonly snapshotBytes: number | undefined;
}

/** Reads are bounded: so many sessions are listed at most. */
const maxListed = 100_000;

/**
 * The row of a session, locked against a change of its owner until the statement ends. Nothing is written without it: the
 * attack, or accident, is a gateway that was cut off, lost the session to another one, and then overwrites its newer save.
 */
export const mine = `mine as (
  select id from codecell.sessions where id = $1 and owner = $2 and epoch = $3 for no key update)`;

/** The table `codecell.sessions`. Records are texts of JSON here. */
export class SessionRows {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** The record; null: it is longer than `maxBytes`; undefined: nobody saved one. */
  async read(id: string, maxBytes: number): Promise<string | null | undefined> {
    const [row] = await this.#database.query<{ record: string | null }>(
      `select case when octet_length(record::text) <= $2 then record::text end as record
       from codecell.sessions where id = $1 and record is not null`,
      [id, maxBytes],
    );
    return row?.record;
  }

  async list(prefix: string): Promise<string[]> {
    const rows = await this.#database.query<{ id: string }>(
      `select id from codecell.sessions
       where record is not null and id >= $1 and starts_with(id, $1) order by id limit $2`,
      [prefix, maxListed],
    );
    return rows.map(({ id }) => id);
  }

  /** Records by id; null: it is longer than `maxBytes`. `isOwned`: a process has it, or had it when it was killed. */
  async *records(
    prefix: string,
    maxBytes: number,
  ): AsyncGenerator<{ id: string; record: string | null; isOwned: boolean }> {
    for (let after = ""; ; ) {
      const page = await this.#database.query<{ id: string; record: string | null; isOwned: boolean }>(
        `select id, case when octet_length(record::text) <= $3 then record::text end as record, owner is not null as "isOwned"
         from codecell.sessions where record is not null and id > $2 and id >= $1 and starts_with(id, $1) order by id limit 200`,
        [prefix, after, maxBytes],
      );
      yield* page;
      const last = page.at(-1);
      if (!last || page.length < 200) return;
      after = last.id;
    }
  }

  async namedAmong(workspaces: readonly string[]): Promise<string[]> {
    const rows = await this.#database.query<{ workspace: string }>(
      "select distinct workspace from codecell.sessions where workspace = any($1) and record is not null",
      [workspaces],
    );
    return rows.map(({ workspace }) => workspace);
  }

  async isUnsaved(id: string): Promise<boolean> {
    const [row] = await this.#database.query<{ unsaved: boolean }>(
      "select unsaved from codecell.sessions where id = $1",
      [id],
    );
    return row?.unsaved === true;
  }

  /** Returns after the commit: from then on the record survives this process. */
  async write(id: string, { owner, epoch }: Ownership, record: string, columns: RecordColumns): Promise<void> {
    const rows = await this.#database.query(
      `update codecell.sessions
       set record = $4::json, workspace = $5, used_at = to_timestamp($6 / 1000.0), snapshot_bytes = $7, changed_at = now()
       where id = $1 and owner = $2 and epoch = $3 returning 1`,
      [...[id, owner, epoch], record, columns.workspace, columns.usedMs, columns.snapshotBytes ?? null],
    );
    if (rows.length === 0) throw lostOwnership(id);
  }

  /** A run waits for this, so it gives up early. */
  async markUnsaved(id: string, { owner, epoch }: Ownership, isUnsaved: boolean): Promise<void> {
    const rows = await this.#database.query(
      "update codecell.sessions set unsaved = $4 where id = $1 and owner = $2 and epoch = $3 returning 1",
      [id, owner, epoch, isUnsaved],
      { timeoutMs: 2_000 },
    );
    if (rows.length === 0) throw lostOwnership(id);
  }

  async forget(id: string, { owner, epoch }: Ownership): Promise<void> {
    const rows = await this.#database.query(
      `delete from codecell.sessions where id = $1 and owner = $2 and epoch = $3 returning ${tellGateways("$1", "$2")}`,
      [id, owner, epoch],
    );
    if (rows.length === 0) throw lostOwnership(id);
  }

  /** The owner of a session that was lost before it was saved. */
  async lostOwner(id: string): Promise<PreviousOwner | undefined> {
    const [row] = await this.#database.query<{ owner: string; lost_ms: number | null }>(
      `select owner, (select (extract(epoch from renewed_until) * 1000)::float8
         from codecell.gateways gateway where gateway.id = sessions.owner) as lost_ms
       from codecell.sessions where id = $1 and record is null and owner is not null and not ${ownerIsAlive}`,
      [id],
    );
    return row && { owner: row.owner, lostMs: row.lost_ms ?? undefined };
  }

  /**
   * Removes rows of sessions that were lost before they were saved, and keys of runs that nobody asks for again. For a day after its
   * gateway was lost, a session's row tells callers what happened. When another process was lost is not known: its day begins
   * when it took the session.
   */
  async removeUnfinished(): Promise<void> {
    await this.#database.query("delete from codecell.run_keys where started_at < now() - interval '1 day'");
    await this.#database.query(
      `delete from codecell.sessions
       where record is null and changed_at < now() - interval '1 day' and not ${ownerIsAlive}
         and not exists (select 1 from codecell.gateways gateway
           where gateway.id = sessions.owner and gateway.renewed_until > clock_timestamp() - interval '1 day')`,
    );
  }
}
