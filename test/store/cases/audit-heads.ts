import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { AuditLog } from "../../../src/audit/log.ts";
import { verifyAudit } from "../../../src/audit/verify.ts";
import { silentLogger } from "../../../src/lib/log/logger.ts";
import { KeptHeads, keptHeads } from "../../../src/service/audit/kept-heads.ts";
import type { Database } from "../../../src/store/postgres/database.ts";
import { openDatabase } from "../../../src/store/postgres/open-database.ts";
import type { PostgresServer } from "../../support/postgres.ts";

export function auditHeadCases(server: () => PostgresServer): void {
  describe("heads of an audit in the database", () => {
    let database: Database;
    let dir: string;
    beforeAll(async () => {
      database = await openDatabase(await server().newDatabase());
    });
    afterAll(async () => {
      await database?.[Symbol.asyncDispose]();
    });
    beforeEach(async () => {
      dir = join(await mkdtemp(join(tmpdir(), "cc-heads-")), "audit");
    });
    afterEach(() => rm(dirname(dir), { recursive: true, force: true }));

    async function writeSome(): Promise<void> {
      await using log = new AuditLog({ dir, durable: true, keepBytes: 1e9, keepMs: 1e12, env: {} as never });
      for (let i = 0; i < 3; i++) log.record({ type: "session.closed", session: "s", kept: false } as never);
      await log.settled();
    }
    const verified = async () => (await verifyAudit(dir, { heads: await keptHeads(dir, "here", database) })).problems;

    test("reveal an audit that was removed as a whole, and one that was shortened with its own head", async () => {
      await using heads = new KeptHeads(dir, "here", database, silentLogger);
      await writeSome();
      await heads.keep();
      expect(await verified()).toEqual([]);
      const [chain = ""] = (await readdir(dir)).filter((name) => /^c-[0-9a-f]{16}$/.test(name));
      const [file = ""] = (await readdir(join(dir, chain))).filter((name) => name.endsWith(".jsonl"));
      const lines = (await readFile(join(dir, chain, file), "utf8")).trimEnd().split("\n");
      await writeFile(join(dir, chain, file), `${lines.slice(0, -1).join("\n")}\n`);
      const { seq, prev } = JSON.parse(lines.at(-1) ?? "");
      await writeFile(join(dir, chain, "head"), `${String(seq - 1).padStart(15, "0")} ${prev}\n`);
      expect((await verifyAudit(dir)).isSound).toBe(true); // its own files hide it
      expect(await verified()).toMatchObject([{ message: expect.stringContaining("the last lines were removed") }]);
      await rm(join(dir, chain), { recursive: true });
      expect(await verified()).toMatchObject([{ message: expect.stringContaining("is missing") }]);
    });
  });
}
