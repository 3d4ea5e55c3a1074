import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { PostgresTokens } from "../../../src/service/tenants/postgres-tokens.ts";
import type { Database } from "../../../src/store/postgres/database.ts";
import { openDatabase } from "../../../src/store/postgres/open-database.ts";
import type { PostgresServer } from "../../support/postgres.ts";

const alice = { name: "alice", scopes: ["run" as const], sessions: 5 };

export function tokenCases(server: () => PostgresServer): void {
  describe("tokens in PostgreSQL", () => {
    let url: string;
    let database: Database;
    beforeEach(async () => {
      url = await server().newDatabase();
      database = await openDatabase(url);
    });
    afterEach(() => database[Symbol.asyncDispose]());

    test("work on every gateway as soon as they are created, and only their digest is stored", async () => {
      await using here = await PostgresTokens.open(database);
      await using there = await PostgresTokens.open(database);
      const { token, record } = await here.create(alice, 1);
      await expect.poll(() => there.find(`Bearer ${token}`, 2)).toEqual(record);
      expect(await there.find(`Bearer ${token}x`, 2)).toBeUndefined();
      expect(JSON.stringify(await server().query(url, "select * from codecell.tokens"))).not.toContain(token.slice(3));
    });

    test("stop working everywhere when they are removed or rotated, without a check of the age", async () => {
      const ages = { checkMs: 1e9, outageMs: 1e9 }; // only the notification can tell
      await using there = await PostgresTokens.open(database, { ages });
      await using here = await PostgresTokens.open(database);
      const { token } = await here.create(alice, 1);
      await expect.poll(() => there.find(`Bearer ${token}`, 2)).toBeDefined();
      const rotated = await here.rotate("alice");
      await expect.poll(() => there.find(`Bearer ${token}`, 2)).toBeUndefined();
      expect(await there.find(`Bearer ${rotated.token}`, 2)).toMatchObject({ name: "alice" });
      await here.remove("alice");
      await expect.poll(() => there.find(`Bearer ${rotated.token}`, 2)).toBeUndefined();
      await expect(here.remove("alice")).rejects.toMatchObject({ code: "usage" });
      await expect(here.rotate("alice")).rejects.toMatchObject({ code: "usage" });
    });

    test("stop working within five seconds when the notification is lost", async () => {
      let now = 0;
      await using here = await PostgresTokens.open(database);
      const { token } = await here.create(alice, 1);
      await using there = await PostgresTokens.open(database, { listens: false, now: () => now });
      await here.remove("alice");
      now = 4_999;
      expect(await there.find(`Bearer ${token}`, 2)).toBeDefined();
      now = 5_000;
      expect(await there.find(`Bearer ${token}`, 2)).toBeUndefined();
    });

    test("work for a minute while the database is down, and then nobody gets in", async () => {
      let now = 0;
      await using tokens = await PostgresTokens.open(database, { now: () => now });
      const { token } = await tokens.create(alice, 1);
      expect(await tokens.find(`Bearer ${token}`, 2)).toBeDefined();
      await server().stop();
      now = 59_000;
      expect(await tokens.find(`Bearer ${token}`, 2)).toBeDefined();
      now = 60_000;
      await expect(tokens.find(`Bearer ${token}`, 2)).rejects.toMatchObject({ code: "service_unavailable" });
      await server().start();
      await expect.poll(() => tokens.find(`Bearer ${token}`, 2).catch(() => undefined)).toBeDefined();
    });

    test("with one name are created once, although two gateways create them at the same time", async () => {
      await using here = await PostgresTokens.open(database);
      const made = await Promise.allSettled([here.create(alice, 1), here.create(alice, 1), here.create(alice, 1)]);
      expect(made.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
      expect(made.find(({ status }) => status === "rejected")).toMatchObject({
        reason: { details: { reason: "token_exists" } },
      });
      expect(await here.all()).toHaveLength(1);
    });

    test("are the same list until they change", async () => {
      let now = 0;
      await using tokens = await PostgresTokens.open(database, { now: () => now });
      await tokens.create(alice, 1);
      const before = await tokens.all();
      now = 10_000;
      expect(await tokens.all()).toBe(before);
    });
  });
}
