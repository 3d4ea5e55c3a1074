import { beforeEach, describe, expect, test } from "vitest";
import { Database } from "../../../src/store/postgres/database.ts";
import { type Migration, migrate, schemaStatus } from "../../../src/store/postgres/migrate.ts";
import { migrations } from "../../../src/store/postgres/migrations.ts";
import { openDatabase } from "../../../src/store/postgres/open-database.ts";
import type { PostgresServer } from "../../support/postgres.ts";

export function migrationCases(server: () => PostgresServer): void {
  describe("the schema of a shared database", () => {
    let url: string;
    beforeEach(async () => {
      url = await server().newDatabase();
    });

    const added: Migration = { number: 99, name: "added", sql: "create table codecell.added (x int)" };

    test("ten gateways that start at once migrate once, and all of them can work", async () => {
      const databases = await Promise.all(Array.from({ length: 10 }, () => openDatabase(url, { connections: 2 })));
      const rows = await server().query(url, "select number from codecell.migrations order by number");
      expect(rows.map(({ number }) => number)).toEqual(migrations.map(({ number }) => number));
      const empty = await Promise.all(databases.map((one) => one.query("select * from codecell.sessions")));
      expect(empty).toEqual(databases.map(() => []));
      for (const database of databases) await database[Symbol.asyncDispose]();
    });

    test("only what is missing is applied, and the status says what that is", async () => {
      await using database = await openDatabase(url);
      expect(await migrate(database)).toEqual([]);
      const more = [...migrations, added];
      expect((await schemaStatus(database, more)).pending).toEqual([{ number: 99, name: "added" }]);
      expect(await migrate(database, more)).toEqual([added]);
      expect((await schemaStatus(database, more)).pending).toEqual([]);
    });

    test("a migration that fails leaves nothing behind", async () => {
      await using database = await openDatabase(url);
      const broken = { ...added, sql: `${added.sql}; select 1/0` };
      await expect(migrate(database, [...migrations, broken])).rejects.toThrow(/division by zero/);
      expect(await migrate(database, [...migrations, added])).toEqual([added]);
    });

    test("a database whose encoding does not take every text is refused with what to do", async () => {
      await server().query(url, "create database latin encoding 'LATIN1' locale 'C' template template0");
      await expect(openDatabase(url.replace(/[^/]+$/, "latin"))).rejects.toMatchObject({
        code: "usage",
        message: expect.stringContaining("has the encoding LATIN1"),
      });
    });

    test("a database of a newer codecell is refused with what to do", async () => {
      await using database = await openDatabase(url);
      await migrate(database, [...migrations, added]);
      await expect(openDatabase(url)).rejects.toMatchObject({
        code: "usage",
        message: expect.stringContaining("newer codecell (migration 99, added)"),
        hint: expect.stringContaining("update this codecell"),
      });
    });

    test("a migration that was applied with another text is refused", async () => {
      await using database = await openDatabase(url);
      await migrate(database, [...migrations, added]);
      const changed = { ...added, sql: "select 1" };
      await expect(migrate(database, [...migrations, changed])).rejects.toMatchObject({
        details: { reason: "changed_schema", migration: 99 },
      });
    });

    test("a user that may not create tables is told to let the owner migrate", async () => {
      await server().query(url, "create role guest login");
      await expect(openDatabase(url.replace("tester@", "guest@"))).rejects.toMatchObject({
        code: "usage",
        hint: expect.stringContaining("codecell database migrate"),
      });
    });

    test("a database that is not there is an error that names the host and never a password", async () => {
      const away = "postgres://tester:hunter2@127.0.0.1:1/codecell";
      const error = await Database.open(away).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ code: "service_unavailable", message: expect.stringContaining("127.0.0.1:1") });
      expect(JSON.stringify(error, Object.getOwnPropertyNames(error))).not.toContain("hunter2");
    });

    test("a Unix socket works like a port", async () => {
      await using database = await openDatabase(server().socketUrl(url));
      expect((await schemaStatus(database)).pending).toEqual([]);
    });
  });
}
