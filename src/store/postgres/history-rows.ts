import type { Database } from "./database.ts";
import { lostOwnership } from "./database-errors.ts";
import type { Ownership } from "./session-owner.ts";
import { mine } from "./session-rows.ts";

/** So much is kept of a session's history and of its outputs; the oldest go first. */
export interface KeptBytes {
  readonly history: number;
  readonly outputs: number;
  readonly displays: number;
}

const defaultKept: KeptBytes = { history: 32 * 2 ** 20, outputs: 32 * 2 ** 20, displays: 64 * 2 ** 20 };

/** What was added since the last look at the total: counting it after each run would read the whole history. */
const looksPerLimit = 16;

export interface OutputRow {
  readonly run: number;
  readonly atMs: number;
  /** a text of JSON */
  readonly line: string;
  /** hashes of the displays that are stored apart */
  readonly displays: readonly string[];
  readonly displayBytes: number;
}

/** Histories and outputs of sessions, as texts of JSON. They are bounded like the files of a session. */
export class HistoryRows {
  readonly #database: Database;
  readonly #kept: KeptBytes;

  constructor(database: Database, kept: KeptBytes = defaultKept) {
    this.#database = database;
    this.#kept = kept;
  }

  /** Adds an entry; returns how many bytes it has. */
  async append(id: string, { owner, epoch }: Ownership, entry: string): Promise<number> {
    const bytes = Buffer.byteLength(entry);
    const rows = await this.#database.query(
      `with ${mine} insert into codecell.session_history (session_id, entry, bytes) select id, $4::json, $5 from mine returning 1`,
      [id, owner, epoch, entry, bytes],
    );
    if (rows.length === 0) throw lostOwnership(id);
    return bytes;
  }

  /** The latest entries, oldest first. */
  async latest(id: string, limit: number): Promise<string[]> {
    const rows = await this.#database.query<{ entry: string }>(
      "select entry::text as entry from codecell.session_history where session_id = $1 order by seq desc limit $2",
      [id, Math.min(limit, 100_000)],
    );
    return rows.map(({ entry }) => entry).reverse();
  }

  async appendOutput(id: string, { owner, epoch }: Ownership, row: OutputRow): Promise<number> {
    const bytes = Buffer.byteLength(row.line);
    const rows = await this.#database.query(
      `with ${mine}
       insert into codecell.session_outputs (session_id, run, at_ms, line, bytes, displays, display_bytes)
       select id, $4, $5, $6::json, $7, $8, $9 from mine returning 1`,
      [...[id, owner, epoch], row.run, row.atMs, row.line, bytes, row.displays, row.displayBytes],
    );
    if (rows.length === 0) throw lostOwnership(id);
    return bytes + row.displayBytes;
  }

  /** The outputs of these runs, one at a time: together they may be large. */
  async output(id: string, run: number, atMs: number): Promise<string | undefined> {
    const [row] = await this.#database.query<{ line: string }>(
      `select line::text as line from codecell.session_outputs
       where session_id = $1 and run = $2 and at_ms = $3 order by seq desc limit 1`,
      [id, run, atMs],
    );
    return row?.line;
  }

  /** Whether so many new bytes call for a look at the total. */
  isDue(addedBytes: number): boolean {
    return addedBytes > Math.min(...Object.values(this.#kept)) / looksPerLimit;
  }

  /** Removes what is over the limits, and displays that no kept output names. */
  async prune(id: string, { owner, epoch }: Ownership): Promise<void> {
    const { history, outputs, displays } = this.#kept;
    const [row] = await this.#database.query<{ count: string }>(
      `with ${mine},
       old_history as (
         delete from codecell.session_history using (
           select seq, sum(bytes) over (order by seq desc) as total
           from codecell.session_history, mine where session_id = mine.id) counted
         where session_id = $1 and session_history.seq = counted.seq and counted.total > $4),
       counted_outputs as (
         select seq, displays, sum(bytes) over w as total, sum(display_bytes) over w as display_total
         from codecell.session_outputs, mine where session_id = mine.id window w as (order by seq desc)),
       old_outputs as (
         delete from codecell.session_outputs using counted_outputs counted
         where session_id = $1 and session_outputs.seq = counted.seq and (counted.total > $5 or counted.display_total > $6)),
       old_displays as (
         delete from codecell.blobs using mine
         where session_id = mine.id and kind = 'display' and sha256 is not null and not exists (
           select 1 from counted_outputs
           where blobs.sha256 = any(counted_outputs.displays) and total <= $5 and display_total <= $6))
       select count(*) from mine`,
      [id, owner, epoch, history, outputs, displays],
    );
    if (row?.count !== "1") throw lostOwnership(id);
  }
}
