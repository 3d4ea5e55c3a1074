import { randomBytes } from "node:crypto";
import type {
  GatewayDirectory,
  GatewayRow,
  KnownRunKey,
  LeaseGrant,
  ListedSession,
  RunKeyClaim,
  SessionPlace,
} from "../gateway-directory.ts";
import { ownerIsAlive } from "./acquire-session.ts";
import type { Database } from "./database.ts";
import { RunKeyRows } from "./run-key-rows.ts";

interface PlaceRow {
  readonly id: string;
  readonly owner: string | null;
  readonly url: string | null;
  readonly alive: boolean;
  readonly until_ms: number | null;
  readonly saved: boolean;
}

/** A database that does not answer in this time does not renew a lease. */
const leaseTimeoutMs = 4_000;
const maxListed = 10_000;

const milliseconds = (time: string) => `(extract(epoch from ${time}) * 1000)::float8`;

const granted = `select ${milliseconds("clock_timestamp()")} as now_ms, coalesce((
    select json_agg(json_build_object('id', id, 'url', url) order by id) from codecell.gateways
    where id <> $1 and renewed_until > clock_timestamp()), '[]') as peers
  from granted`;

const place = `select sessions.id, owner, gateway.url, ${ownerIsAlive} as alive,
    ${milliseconds("gateway.renewed_until")} as until_ms, record is not null as saved
  from codecell.sessions left join codecell.gateways gateway on gateway.id = sessions.owner`;

/** The gateways and their sessions in PostgreSQL. Every time is that of its server. */
export class PostgresDirectory implements GatewayDirectory {
  readonly #database: Database;
  readonly #leases: Database;
  readonly #runKeys: RunKeyRows;

  /** `leases` has connections of its own: many saves at once must not cost a gateway its lease. */
  constructor(database: Database, leases: Database = database) {
    this.#database = database;
    this.#leases = leases;
    this.#runKeys = new RunKeyRows(database);
  }

  async join({ id, url, leaseMs }: { id: string; url: string; leaseMs: number }): Promise<LeaseGrant> {
    await this.#leases.query(
      `delete from codecell.gateways where renewed_until < clock_timestamp() - interval '1 day'
         and not exists (select 1 from codecell.sessions where owner = gateways.id)`,
    );
    const [row] = await this.#leases.query<{ now_ms: number; peers: LeaseGrant["peers"] }>(
      `with granted as (
         insert into codecell.gateways (id, url, renewed_until)
         values ($1, $2, clock_timestamp() + $3 * interval '1 millisecond')
         on conflict (id) do update set url = excluded.url, renewed_until = excluded.renewed_until returning 1)
       ${granted}`,
      [id, url, leaseMs],
      { timeoutMs: leaseTimeoutMs },
    );
    return grantOf(row) ?? { nowMs: Date.now(), peers: [] };
  }

  async renew(id: string, leaseMs: number): Promise<LeaseGrant | undefined> {
    const [row] = await this.#leases.query<{ now_ms: number; peers: LeaseGrant["peers"] }>(
      `with granted as (
         update codecell.gateways set renewed_until = clock_timestamp() + $2 * interval '1 millisecond'
         where id = $1 and renewed_until > clock_timestamp() returning 1)
       ${granted}`,
      [id, leaseMs],
      { timeoutMs: leaseTimeoutMs },
    );
    return grantOf(row);
  }

  async leave(id: string): Promise<void> {
    // What it could not give back is free at once, and who takes it still learns who had it.
    await this.#leases.query("update codecell.gateways set renewed_until = clock_timestamp() where id = $1", [id]);
    await this.#leases.query(
      "delete from codecell.gateways where id = $1 and not exists (select 1 from codecell.sessions where owner = $1)",
      [id],
    );
  }

  async list(): Promise<GatewayRow[]> {
    const rows = await this.#database.query<{
      id: string;
      url: string;
      alive: boolean;
      started_ms: number;
      until_ms: number;
      sessions: number;
    }>(
      `select id, url, renewed_until > clock_timestamp() as alive, ${milliseconds("started_at")} as started_ms,
         ${milliseconds("renewed_until")} as until_ms,
         (select count(*)::int from codecell.sessions where owner = gateways.id) as sessions
       from codecell.gateways order by started_at limit $1`,
      [maxListed],
    );
    return rows.map(({ id, url, alive, started_ms, until_ms, sessions }) => ({
      ...{ id, url, startedMs: started_ms, renewedUntilMs: until_ms, isAlive: alive, sessions },
    }));
  }

  async urlOf(id: string): Promise<string | undefined> {
    const [row] = await this.#database.query<{ url: string }>(
      "select url from codecell.gateways where id = $1 and renewed_until > clock_timestamp()",
      [id],
    );
    return row?.url;
  }

  async find(sessionKey: string): Promise<SessionPlace | undefined> {
    const [row] = await this.#database.query<PlaceRow>(`${place} where sessions.id = $1`, [sessionKey]);
    return row && placeOf(row);
  }

  async sessions(prefix: string): Promise<ListedSession[]> {
    const rows = await this.#database.query<PlaceRow>(
      `${place} where sessions.id >= $1 and starts_with(sessions.id, $1) order by sessions.id limit $2`,
      [prefix, maxListed],
    );
    return rows.map((row) => ({ key: row.id, ...placeOf(row) }));
  }

  async owned(id: string): Promise<readonly string[]> {
    const rows = await this.#leases.query<{ id: string }>("select id from codecell.sessions where owner = $1", [id]);
    return rows.map((row) => row.id);
  }

  claimRunKey(claim: RunKeyClaim): Promise<"claimed" | "not_owner" | KnownRunKey> {
    return this.#runKeys.claim(claim);
  }

  releaseRunKey(claim: RunKeyClaim): Promise<void> {
    return this.#runKeys.release(claim);
  }

  async sharedKey(name: string): Promise<Uint8Array> {
    await this.#database.query(
      "insert into codecell.shared_keys (name, key) values ($1, $2) on conflict (name) do nothing",
      [name, randomBytes(32)],
    );
    const [row] = await this.#database.query<{ key: Buffer }>("select key from codecell.shared_keys where name = $1", [
      name,
    ]);
    if (!row) throw new Error(`the shared key ${name} is missing`);
    return row.key;
  }
}

function grantOf(row: { now_ms: number; peers: LeaseGrant["peers"] } | undefined): LeaseGrant | undefined {
  return row && { nowMs: row.now_ms, peers: row.peers };
}

function placeOf({ owner, url, alive, until_ms, saved }: PlaceRow): SessionPlace {
  if (owner === null) return { owner: undefined, isSaved: saved };
  const gateway = { id: owner, url: url ?? undefined, isAlive: alive, renewedUntilMs: until_ms ?? undefined };
  return { owner: gateway, isSaved: saved };
}
