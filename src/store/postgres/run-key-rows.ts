import type { KnownRunKey, RunKeyClaim } from "../gateway-directory.ts";
import type { Database } from "./database.ts";

/** As long, and as many, as a gateway keeps them in its memory. */
const keep = { ms: 15 * 60_000, keys: 10_000 } as const;
/** Old ones are removed after so many new ones. */
const pruneEvery = 500;

/** The table `codecell.run_keys`: which requests of a tenant have started a run, on any gateway. */
export class RunKeyRows {
  readonly #database: Database;
  /** claims of each tenant until the next look at its old keys; at first one looks at once */
  readonly #untilPrune = new Map<string, number>();

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * Claims a key for a request, as long as the gateway has the session. Its row is locked, so a gateway that takes the session
   * over either sees the key, or has the session before the key is claimed, which then fails.
   */
  async claim(claim: RunKeyClaim): Promise<"claimed" | "not_owner" | KnownRunKey> {
    const { sessionKey, gateway, namespace, key, request } = claim;
    const claimed = await this.#database.query(
      `with mine as materialized (
         select 1 from codecell.sessions where id = $1 and owner = $2 for share)
       insert into codecell.run_keys as known (namespace, key, request, gateway) select $3, $4, $5, $2 from mine
       on conflict (namespace, key) do update
       set request = excluded.request, gateway = excluded.gateway, started_at = excluded.started_at
       where known.started_at < clock_timestamp() - $6 * interval '1 millisecond'
       returning 1`,
      [sessionKey, gateway, namespace, key, request, keep.ms],
    );
    if (claimed.length === 0) return (await this.#known(claim)) ?? "not_owner";
    await this.#added(namespace);
    return "claimed";
  }

  /** Gives a key back: nothing was started for it. */
  async release({ gateway, namespace, key, request }: RunKeyClaim): Promise<void> {
    await this.#database.query(
      "delete from codecell.run_keys where namespace = $1 and key = $2 and gateway = $3 and request = $4",
      [namespace, key, gateway, request],
    );
  }

  async #known({ namespace, key }: RunKeyClaim): Promise<KnownRunKey | undefined> {
    const [row] = await this.#database.query<{ request: string; gateway: string; started_ms: number }>(
      `select request, gateway, (extract(epoch from started_at) * 1000)::float8 as started_ms
       from codecell.run_keys where namespace = $1 and key = $2`,
      [namespace, key],
    );
    return row && { request: row.request, gateway: row.gateway, startedMs: row.started_ms };
  }

  async #added(namespace: string): Promise<void> {
    const left = (this.#untilPrune.get(namespace) ?? 1) - 1;
    this.#untilPrune.set(namespace, left > 0 ? left : pruneEvery);
    if (left > 0) return;
    await this.#database.query(
      `delete from codecell.run_keys where namespace = $1 and started_at <= greatest(
         clock_timestamp() - $2 * interval '1 millisecond',
         (select started_at from codecell.run_keys where namespace = $1 order by started_at desc offset $3 limit 1))`,
      [namespace, keep.ms, keep.keys],
    );
  }
}
