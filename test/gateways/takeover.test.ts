import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { silentLogger } from "../../src/lib/log/logger.ts";
import { acquireSession } from "../../src/store/postgres/acquire-session.ts";
import { Database } from "../../src/store/postgres/database.ts";
import { openDatabase } from "../../src/store/postgres/open-database.ts";
import { PostgresDirectory } from "../../src/store/postgres/postgres-directory.ts";
import { ProcessOwners } from "../../src/store/postgres/process-owners.ts";
import { SessionRows } from "../../src/store/postgres/session-rows.ts";
import { noPostgres, type PostgresServer, startPostgres } from "../support/postgres.ts";

const gateway = (name: string) => ({ id: `g-${name.repeat(10)}`, url: `http://${name}`, leaseMs: 60_000 });
const [a, b, c] = [gateway("a"), gateway("b"), gateway("c")];

describe.skipIf(noPostgres !== undefined)("taking a session in the database", () => {
  let server: PostgresServer;
  let url: string;
  let database: Database;
  let directory: PostgresDirectory;

  beforeAll(async () => {
    server = await startPostgres();
    url = await server.newDatabase();
    database = await openDatabase(url);
    directory = new PostgresDirectory(database);
  });
  afterAll(async () => {
    await database?.[Symbol.asyncDispose]();
    await server?.[Symbol.asyncDispose]();
  });
  beforeEach(async () => {
    await database.query("delete from codecell.sessions");
    await database.query("delete from codecell.gateways");
    for (const one of [a, b, c]) await directory.join(one);
  });
  const expire = ({ id }: { id: string }) =>
    database.query("update codecell.gateways set renewed_until = clock_timestamp() - interval '1 s' where id = $1", [
      id,
    ]);

  test("one of many that want it gets it, and the others see who has it", async () => {
    for (let round = 0; round < 20; round++) {
      const owners = [a, b, c, a, b, c].map(({ id }) => id);
      const taken = await Promise.all(owners.map((owner) => acquireSession(database, `s${round}`, owner)));
      const place = await directory.find(`s${round}`);
      const winners = new Set(owners.filter((_, at) => taken[at] !== undefined));
      expect([...winners]).toEqual([place?.owner?.id]);
    }
  });

  test("a session of a living gateway cannot be taken; one of a lost gateway can, once, with a higher epoch", async () => {
    const first = await acquireSession(database, "s", a.id);
    expect(await acquireSession(database, "s", b.id)).toBeUndefined();
    await expire(a);
    const results = await Promise.all([b, c].map(({ id }) => acquireSession(database, "s", id)));
    const [taken, ...more] = results.filter((one) => one !== undefined);
    expect(more).toEqual([]);
    expect(taken?.previous).toEqual({ owner: a.id, lostMs: expect.any(Number) });
    expect(taken?.epoch).toBeGreaterThan(first?.epoch ?? 0n);
  });

  test("a gateway that comes back in the moment of a takeover either keeps the session or sees that it is gone", async () => {
    const outcomes = { kept: 0, taken: 0 };
    for (let round = 0; round < 60; round++) {
      const key = `back-${round}`;
      await acquireSession(database, key, a.id);
      await expire(a);
      const rejoined = directory.join(a).then(() => directory.owned(a.id));
      const [believes, taken] = await Promise.all([rejoined, acquireSession(database, key, b.id)]);
      expect(believes.includes(key)).toBe(taken === undefined);
      expect((await directory.find(key))?.owner?.id).toBe(taken ? b.id : a.id);
      outcomes[taken ? "taken" : "kept"]++;
    }
    expect(outcomes.kept + outcomes.taken).toBe(60);
  });

  test("a takeover that has begun holds back the gateway that returns", async () => {
    await acquireSession(database, "held", a.id);
    await expire(a);
    const other = await Database.open(url);
    try {
      await other.transaction(async (queries) => {
        await queries.query(
          "select 1 from codecell.gateways where id = $1 and renewed_until <= clock_timestamp() for share",
          [a.id],
        );
        let isBack = false;
        const back = directory.join(a).then(() => {
          isBack = true;
        });
        await server.query(url, "select pg_sleep(0.2)");
        expect(isBack).toBe(false);
        void back;
      });
    } finally {
      await other[Symbol.asyncDispose]();
    }
  });

  /** Until a statement of this database waits for a lock. */
  const isWaiting = () =>
    expect
      .poll(() =>
        server.query(
          url,
          "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
        ),
      )
      .not.toEqual([]);

  test("a gateway that joins and takes the session while another one is asking for it keeps it", async () => {
    await database.query("insert into codecell.sessions (id, record) values ('joined', '{}')");
    const late = gateway("d");
    const other = await Database.open(url);
    try {
      let asking: Promise<unknown> | undefined;
      await other.transaction(async (queries) => {
        await queries.query("update codecell.sessions set owner = $1 where id = 'joined'", [late.id]);
        await queries.query(
          "insert into codecell.gateways (id, url, renewed_until) values ($1, 'http://d', clock_timestamp() + interval '1 min')",
          [late.id],
        );
        // What this statement sees is from before the commit: the session is free, and there is no such gateway.
        asking = acquireSession(database, "joined", b.id);
        await isWaiting();
      });
      expect(await asking).toBeUndefined();
      expect((await directory.find("joined"))?.owner?.id).toBe(late.id);
    } finally {
      await other[Symbol.asyncDispose]();
    }
  });

  test("a gateway that gives the session back while another one is asking for it was not lost", async () => {
    const first = await acquireSession(database, "given", a.id);
    await database.query("update codecell.sessions set record = '{}' where id = 'given'");
    const other = await Database.open(url);
    try {
      let asking: ReturnType<typeof acquireSession> | undefined;
      await other.transaction(async (queries) => {
        await queries.query("update codecell.sessions set owner = null where id = 'given'");
        asking = acquireSession(database, "given", b.id);
        await isWaiting();
      });
      const taken = await asking;
      expect(taken?.epoch).toBeGreaterThan(first?.epoch ?? 0n);
      expect(taken?.previous).toBeUndefined();
    } finally {
      await other[Symbol.asyncDispose]();
    }
  });

  test("a session of a gateway that is missing from the list can be taken, and the gateway sees it when it comes back", async () => {
    await acquireSession(database, "missing", a.id);
    await database.query("delete from codecell.gateways where id = $1", [a.id]);
    expect(await acquireSession(database, "missing", b.id)).toMatchObject({
      previous: { owner: a.id, lostMs: undefined },
    });
    await directory.join(a);
    expect(await directory.owned(a.id)).toEqual([]);
  });

  test("a session that was never saved is remembered for a day after its gateway was lost, however old it is", async () => {
    const rows = new SessionRows(database);
    await acquireSession(database, "old", a.id);
    await database.query("update codecell.sessions set changed_at = now() - interval '3 days'");
    const lost = (ago: string) =>
      database.query(`update codecell.gateways set renewed_until = now() - interval '${ago}' where id = $1`, [a.id]);
    await lost("23 hours");
    await rows.removeUnfinished();
    expect(await rows.lostOwner("old")).toMatchObject({ owner: a.id });
    await lost("25 hours");
    await rows.removeUnfinished();
    expect(await rows.lostOwner("old")).toBeUndefined();
  });

  test("a lease that is over cannot be renewed, only given again", async () => {
    expect(await directory.renew(a.id, 1_000)).toMatchObject({ peers: [{ id: b.id }, { id: c.id }] });
    await expire(a);
    expect(await directory.renew(a.id, 1_000)).toBeUndefined();
    expect((await directory.list()).find(({ id }) => id === a.id)?.isAlive).toBe(false);
    await directory.join(a);
    expect(await directory.renew(a.id, 1_000)).toBeDefined();
  });

  test("a process without a lease and a gateway do not take each other's sessions while both live", async () => {
    const owners = await ProcessOwners.open(database, silentLogger);
    await owners.acquire("of-process");
    await acquireSession(database, "of-gateway", a.id);
    expect(await acquireSession(database, "of-process", a.id)).toBeUndefined();
    expect(await owners.acquire("of-gateway")).toBeUndefined();
    await owners[Symbol.asyncDispose]();
    await expect
      .poll(() => acquireSession(database, "of-process", a.id))
      .toMatchObject({ previous: { owner: owners.owner } });
  });

  test("all gateways get the same shared key, whoever asks first", async () => {
    const keys = await Promise.all([1, 2, 3, 4].map(() => directory.sharedKey("test")));
    expect(new Set(keys.map((key) => Buffer.from(key).toString("hex"))).size).toBe(1);
  });
});
