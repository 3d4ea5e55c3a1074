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
