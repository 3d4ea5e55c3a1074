import type { Database } from "./database.ts";

/** The last line of an audit chain at some time. */
export interface HeadRow {
  readonly chain: string;
  readonly seq: number;
  readonly hash: string;
}

/** So many heads of a chain are kept, the latest ones. */
const headsPerChain = 1_000;
const maxRead = 100_000;

/**
 * The table `codecell.audit_heads`: where each gateway's audit ended, over time. A head is only ever added. The attack: shorten
 * the files of a gateway, start it again, and let its audit grow until the latest head looks right; the earlier ones tell.
 */
export class AuditHeadRows {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async add(gateway: string, heads: readonly HeadRow[]): Promise<void> {
    if (heads.length === 0) return;
    await this.#database.query(
      `insert into codecell.audit_heads (gateway, chain, seq, hash)
       select $1, chain, seq, hash from unnest($2::text[], $3::bigint[], $4::text[]) as new (chain, seq, hash)
       on conflict do nothing`,
      [gateway, heads.map(({ chain }) => chain), heads.map(({ seq }) => seq), heads.map(({ hash }) => hash)],
    );
    await this.#database.query(
      `delete from codecell.audit_heads old using unnest($1::text[]) as written (chain)
       where old.chain = written.chain and old.seen_at < (
         select seen_at from codecell.audit_heads where chain = written.chain order by seen_at desc offset $2 limit 1)`,
      [heads.map(({ chain }) => chain), headsPerChain - 1],
    );
  }

  /** The heads of a gateway's audit, and those of these chains, whoever wrote them. */
  async list(gateway: string, chains: readonly string[]): Promise<HeadRow[]> {
    const rows = await this.#database.query<{ chain: string; seq: string; hash: string }>(
      "select chain, seq, hash from codecell.audit_heads where gateway = $1 or chain = any($2) order by seq limit $3",
      [gateway, chains, maxRead],
    );
    return rows.map(({ chain, seq, hash }) => ({ chain, seq: Number(seq), hash }));
  }
}
