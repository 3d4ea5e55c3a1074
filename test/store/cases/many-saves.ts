import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { BlobRows } from "../../../src/store/postgres/blob-rows.ts";
import { Database } from "../../../src/store/postgres/database.ts";
import { GatewayOwners } from "../../../src/store/postgres/gateway-owners.ts";
import { openDatabase } from "../../../src/store/postgres/open-database.ts";
import { PostgresDirectory } from "../../../src/store/postgres/postgres-directory.ts";
import type { PostgresServer } from "../../support/postgres.ts";

export function manySavesCases(server: () => PostgresServer): void {
  describe("many saves at once in PostgreSQL", () => {
    const gateway = { id: "g-0123456789", url: "http://gateway", leaseMs: 60_000 };
    let url: string;
    let database: Database;
    beforeAll(async () => {
      url = await server().newDatabase();
      database = await openDatabase(url);
    });
    afterAll(() => database?.[Symbol.asyncDispose]());

    /** Runs `work` while nothing of the session can be written, until `count` statements wait for that. */
    const whileWaiting = async (count: number, work: () => void) => {
      const other = await Database.open(url, { connections: 1 });
      try {
        await other.transaction(async (queries) => {
          await queries.query("select 1 from codecell.sessions where id = 'equal' for update");
          work();
          const text =
            "select count(*)::int as waiting from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
          const waiting = async () => Number((await server().query(url, text))[0]?.waiting);
          await expect.poll(waiting).toBe(count);
        });
      } finally {
        await other[Symbol.asyncDispose]();
      }
    };

    test("two equal files that are completed at the same time are stored once, and the save succeeds", async () => {
      await new PostgresDirectory(database).join(gateway);
      const held = await new GatewayOwners(database, { id: gateway.id, assertHeld: () => {} }).acquire("equal");
      if (!held) throw new Error("a new session is free");
      const content = Buffer.alloc(2 ** 20, "equal"); // one piece, which is stored before the source ends
      const [ends, isAtEnd]: [(() => void)[], Promise<void>[]] = [[], []];
      const blobs = new BlobRows(database);
      const writes = [1, 2].map(() => {
        const end = new Promise<void>((resolve) => ends.push(resolve));
        return new Promise<{ sha256: string }>((resolve, reject) => {
          const atEnd = new Promise<void>((reached) => {
            const source = async function* () {
              yield content;
              reached();
              await end;
            };
            blobs.write("equal", held, "file", source()).then(resolve, reject);
          });
          isAtEnd.push(atEnd);
        });
      });
      await Promise.all(isAtEnd);
      await whileWaiting(2, () => {
        for (const end of ends) end();
      });
      const [one, other] = await Promise.all(writes);
      expect(one).toEqual(other);
      const rows = await server().query(url, "select sha256 from codecell.blobs where session_id = 'equal'");
      expect(rows).toEqual([{ sha256: one?.sha256 }]);
    });

    test("leave connections to others: a lease is renewed and a session opened while all of them wait", async () => {
      // The lease has no connections of its own here: it must not need them.
      const directory = new PostgresDirectory(database);
      await directory.join(gateway);
      const owners = new GatewayOwners(database, { id: gateway.id, assertHeld: () => {} });
      const held = await owners.acquire("saving");
      if (!held) throw new Error("a new session is free");
      const blobs = new BlobRows(database);
      const other = await Database.open(url, { connections: 1 });
      try {
        let saves: Promise<unknown>[] = [];
        await other.transaction(async (queries) => {
          await queries.query("select 1 from codecell.sessions where id = 'saving' for update");
          saves = Array.from({ length: 40 }, (_, at) => blobs.write("saving", held, "file", [Buffer.from(`${at}`)]));
          const waiting = async () => {
            const text =
              "select count(*)::int as waiting from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
            return Number((await server().query(url, text))[0]?.waiting);
          };
          await expect.poll(waiting).toBeGreaterThanOrEqual(5);
          expect(await directory.renew(gateway.id, gateway.leaseMs)).toBeDefined();
          expect(await owners.acquire("another")).toBeDefined();
          expect(await directory.find("saving")).toMatchObject({ owner: { id: gateway.id } });
        });
        const stored = (await Promise.all(saves)) as { sha256: string }[];
        expect(new Set(stored.map(({ sha256 }) => sha256)).size).toBe(40);
      } finally {
        await other[Symbol.asyncDispose]();
      }
    });
  });
}
