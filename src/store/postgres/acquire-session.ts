import { CodecellError } from "../../lib/errors.ts";
import type { Database, Queries } from "./database.ts";
import { tellGateways } from "./session-news.ts";

/** A session that was taken, and whom it was taken from. */
export interface AcquiredSession {
  /** never used twice in a database */
  readonly epoch: bigint;
  /** the owner that is gone; absent: the session was free or new */
  readonly previous?: PreviousOwner;
}

export interface PreviousOwner {
  readonly owner: string;
  /** when its lease ended, by the database's clock; undefined: it had none */
  readonly lostMs: number | undefined;
}

export interface AcquireOptions {
  /** how many sessions its tenant may have, on all gateways; a new one above that is refused */
  readonly quota?: number | undefined;
}

/** Whether the process that owns a row of `sessions` holds its advisory lock, which ends with its connection. */
const processIsAlive = `exists (
  select 1 from pg_locks lock
  where lock.locktype = 'advisory' and lock.granted and lock.objsubid = 1
    and lock.database = (select oid from pg_database where datname = current_database())
    and ((lock.classid::bigint << 32) | lock.objid::bigint) = hashtextextended(sessions.owner, 0))`;

/** Whether the owner in a row of `sessions` is alive: a gateway by its lease, any other process by its lock. */
export const ownerIsAlive = `(exists (
  select 1 from codecell.gateways gateway
  where gateway.id = sessions.owner and gateway.renewed_until > clock_timestamp()) or ${processIsAlive})`;

/** Pure SQL: whether an owner is a gateway, and not another process. */
const isGateway = (owner: string) => `${owner} ~ '^g-[0-9a-f]{10}$'`;

/**
 * One statement, so that two who want the same session cannot both get it. The row of the session is locked first: from then on its
 * owner does not change. A gateway that was lost is locked too, until this is committed: if it comes back in the same moment,
 * either it keeps the session or it sees that it has lost it. What is not locked decides nothing: a gateway that joined after this
 * statement began is not in what the statement sees, which says nothing about its lease.
 */
const acquire = `
with held as materialized (
  select owner from codecell.sessions where id = $1 for no key update
), lost as materialized (
  select gateway.id, gateway.renewed_until from held join codecell.gateways gateway on gateway.id = held.owner
  where gateway.renewed_until <= clock_timestamp()
  for share of gateway
)
insert into codecell.sessions as sessions (id, owner, epoch)
select $1, $2, nextval('codecell.epochs')
where (select count(*) from held) + (select count(*) from lost) >= 0 -- both are locked before anything is written
on conflict (id) do update set owner = excluded.owner, epoch = excluded.epoch, changed_at = now()
where sessions.owner is null or sessions.owner = excluded.owner
  or sessions.owner in (select id from lost)
  or (not ${isGateway("sessions.owner")} and not ${processIsAlive})
returning epoch, (select owner from held where owner <> $2) as previous,
  (select (extract(epoch from renewed_until) * 1000)::float8 from lost where renewed_until > 'epoch') as lost_ms,
  ${tellGateways("$1", "$2")}`;

/** A gateway that is not in the list, although it has a session, is put there as a lost one: there must be a row to lock. */
const listMissing = `
insert into codecell.gateways (id, url, renewed_until)
select owner, 'about:blank', 'epoch' from codecell.sessions
where id = $1 and ${isGateway("owner")} and not exists (select 1 from codecell.gateways where gateways.id = sessions.owner)
on conflict (id) do nothing returning 1`;

/** Takes a session for an owner; undefined: an owner that is alive has it. */
export async function acquireSession(
  database: Database,
  id: string,
  owner: string,
  { quota }: AcquireOptions = {},
): Promise<AcquiredSession | undefined> {
  if (quota === undefined) return acquireIn(database, id, owner);
  return database.transaction(async (queries) => {
    await assertWithinQuota(queries, id, quota);
    return acquireIn(queries, id, owner);
  });
}

async function acquireIn(queries: Queries, id: string, owner: string): Promise<AcquiredSession | undefined> {
  const take = () =>
    queries.query<{ epoch: string; previous: string | null; lost_ms: number | null }>(acquire, [id, owner]);
  let [row] = await take();
  if (!row && (await queries.query(listMissing, [id])).length > 0) [row] = await take();
  if (!row) return undefined;
  const { previous, lost_ms } = row;
  const taken = previous === null ? {} : { previous: { owner: previous, lostMs: lost_ms ?? undefined } };
  return { epoch: BigInt(row.epoch), ...taken };
}

/** Counted under a lock of the tenant: two gateways that create a session at once must not exceed the quota together. */
async function assertWithinQuota(queries: Queries, id: string, quota: number): Promise<void> {
  await queries.query("select pg_advisory_xact_lock(hashtextextended('sessions of ' || split_part($1, '.', 1), 0))", [
    id,
  ]);
  // What was lost with its gateway takes no space.
  const [row] = await queries.query<{ others: number; is_there: boolean }>(
    `select count(*) filter (where id <> $1)::int as others, coalesce(bool_or(id = $1), false) as is_there
     from codecell.sessions
     where namespace = split_part($1, '.', 1) and (record is not null or ${ownerIsAlive})`,
    [id],
  );
  if (!row || row.is_there || row.others < quota) return;
  throw new CodecellError("session_limit", `this token has ${row.others} sessions, which is its limit`, {
    hint: "close one; delete it if sessions are persistent",
  });
}
