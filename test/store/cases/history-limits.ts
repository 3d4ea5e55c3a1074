import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { silentLogger } from "../../../src/lib/log/logger.ts";
import { BlobRows } from "../../../src/store/postgres/blob-rows.ts";
import type { Database } from "../../../src/store/postgres/database.ts";
import { HistoryRows } from "../../../src/store/postgres/history-rows.ts";
import { openDatabase } from "../../../src/store/postgres/open-database.ts";
import { ProcessOwners } from "../../../src/store/postgres/process-owners.ts";
import type { Ownership } from "../../../src/store/postgres/session-owner.ts";
import type { PostgresServer } from "../../support/postgres.ts";

export function historyLimitCases(server: () => PostgresServer): void {
  describe("the history of a session in PostgreSQL", () => {
    let database: Database;
    let owners: ProcessOwners;
    let held: Ownership;
    beforeAll(async () => {
      database = await openDatabase(await server().newDatabase());
      owners = await ProcessOwners.open(database, silentLogger);
      const taken = await owners.acquire("work");
      if (!taken) throw new Error("a new session is free");
      held = taken;
    });
    afterAll(async () => {
      await owners?.[Symbol.asyncDispose]();
      await database?.[Symbol.asyncDispose]();
    });

    test("is bounded: the oldest runs and outputs go first, and displays that no output names any more", async () => {
      const rows = new HistoryRows(database, { history: 1_000, outputs: 1_000, displays: 1_000 });
      const blobs = new BlobRows(database);
      const display = async () => (await blobs.write("work", held, "display", [randomBytes(300)])).sha256;
      const entry = (run: number) => JSON.stringify({ run, code: "x".repeat(300) });
      const [first, shared] = [await display(), await display()];
      for (let run = 1; run <= 5; run++) {
        await rows.append("work", held, entry(run));
        const displays = run === 1 ? [first] : [shared];
        await rows.appendOutput("work", held, { run, atMs: run, line: entry(run), displays, displayBytes: 300 });
      }
      await rows.prune("work", held);
      expect((await rows.latest("work", 10)).map((text) => JSON.parse(text).run)).toEqual([3, 4, 5]);
      expect(await rows.output("work", 2, 2)).toBeUndefined();
      expect(await rows.output("work", 3, 3)).toBe(entry(3));
      expect([await blobs.has("work", "display", first), await blobs.has("work", "display", shared)]).toEqual([
        false,
        true,
      ]);
      expect([rows.isDue(10), rows.isDue(100)]).toEqual([false, true]);
    });
  });
}
