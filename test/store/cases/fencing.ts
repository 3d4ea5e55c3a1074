import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { silentLogger } from "../../../src/lib/log/logger.ts";
import { PostgresSessionStore } from "../../../src/sessions/storage/postgres/postgres-session-store.ts";
import type { SessionRecord } from "../../../src/sessions/storage/session-record.ts";
import type { HeldSession } from "../../../src/sessions/storage/session-storage.ts";
import type { Database } from "../../../src/store/postgres/database.ts";
import { openDatabase } from "../../../src/store/postgres/open-database.ts";
import { ProcessOwners } from "../../../src/store/postgres/process-owners.ts";
import type { PostgresServer } from "../../support/postgres.ts";

const record = (runs: number, facts: Partial<SessionRecord> = {}): SessionRecord => ({
  ...{ version: 1, id: "work", workspace: "w", createdMs: 1, usedMs: 1, runs, ...facts },
});
const facts = { savedMs: 1, run: 1, python: "3.11", runner: "process", saved: ["x"], skipped: [] };
const outputs = {
  events: [{ type: "stdout" as const, text: "x" }],
  value: undefined,
  error: undefined,
  leftOutBytes: 0,
};
async function* bytes(size: number) {
  yield randomBytes(size);
}

export function fencingCases(server: () => PostgresServer): void {
  describe("a process that lost its session", () => {
    let stateDir: string;
    let database: Database;
    let url: string;
    beforeEach(async () => {
      stateDir = await mkdtemp(join(tmpdir(), "cc-fence-"));
      url = await server().newDatabase();
      database = await openDatabase(url);
    });
    afterEach(async () => {
      await database[Symbol.asyncDispose]();
      await rm(stateDir, { recursive: true, force: true });
    });

    const openStore = async () => {
      const owners = await ProcessOwners.open(database, silentLogger);
      return { owners, store: await PostgresSessionStore.open({ database, stateDir, owners }) };
    };

    test("cannot write, add, remove or prune anything, and the newer save stays", async () => {
      const first = await openStore();
      const stale = await first.store.lock("work");
      await stale.write(record(1));
      await first.owners[Symbol.asyncDispose](); // as if it were cut off: the server ends its lock
      const second = await openStore();
      const held = await second.store.lock("work");
      const snapshot = { ...(await held.writeSnapshot(randomBytes(100))), ...facts };
      await held.write(record(2, { snapshot }));
      const blob = await held.writeBlob(bytes(10), { maxBytes: 10 });
      const writes: Record<string, (session: HeldSession) => Promise<unknown>> = {
        write: (session) => session.write(record(3)),
        markUnsaved: (session) => session.markUnsaved(true),
        appendHistory: (session) =>
          session.appendHistory({ run: 1, atMs: 1, language: "python", code: "", status: "ok", durationMs: 1 }),
        appendOutputs: (session) => session.appendOutputs([{ run: 1, atMs: 1, outputs }]),
        writeSnapshot: (session) => session.writeSnapshot(randomBytes(10)),
        pruneSnapshots: (session) => session.pruneSnapshots(record(3)),
        writeBlob: (session) => session.writeBlob(bytes(10), { maxBytes: 10 }),
        pruneBlobs: (session) => session.pruneBlobs(new Set()),
        forget: (session) => session.forget(),
      };
      for (const [name, write] of Object.entries(writes)) {
        await expect(write(stale), name).rejects.toMatchObject({
          code: "session_busy",
          details: { reason: "lost_ownership" },
        });
      }
      await stale[Symbol.asyncDispose](); // giving it back changes nothing either
      expect(await second.store.isLocked("work")).toBe(true);
      expect(await second.store.read("work")).toEqual(record(2, { snapshot }));
      expect(await second.store.history("work", 10)).toEqual([]);
      expect((await second.store.readSnapshot("work", snapshot)).byteLength).toBe(100);
      for await (const piece of second.store.readBlob("work", blob.sha256)) expect(piece.byteLength).toBe(10);
      // the same writes of the one that holds it are accepted: what is refused is the epoch
      for (const write of Object.values(writes)) await write(held);
      await second.owners[Symbol.asyncDispose]();
    });

    test("cannot finish a snapshot that it began before", async () => {
      const first = await openStore();
      const stale = await first.store.lock("work");
      await stale.write(record(1));
      let other: HeldSession | undefined;
      const second = await openStore();
      const interrupted = async function* () {
        yield randomBytes(2 ** 20);
        await first.owners[Symbol.asyncDispose]();
        other = await second.store.lock("work");
        yield randomBytes(2 ** 20);
      };
      await expect(stale.writeBlob(interrupted(), { maxBytes: 2 ** 22 })).rejects.toMatchObject({
        code: "session_busy",
      });
      await other?.pruneBlobs(new Set());
      expect(await server().query(url, "select 1 from codecell.blob_pieces")).toEqual([]);
      await second.owners[Symbol.asyncDispose]();
    });

    test("has an epoch that no later holder gets, even after the session was removed and made again", async () => {
      const { store, owners } = await openStore();
      const first = await store.lock("work");
      await first.write(record(1));
      await first.forget();
      await first[Symbol.asyncDispose]();
      await using again = await store.lock("work");
      await again.write(record(2));
      await expect(first.write(record(1))).rejects.toMatchObject({ details: { reason: "lost_ownership" } });
      expect(await store.read("work")).toEqual(record(2));
      await owners[Symbol.asyncDispose]();
    });

    test("only for a moment, with its connection, writes on if nobody took the session meanwhile", async () => {
      const { store, owners } = await openStore();
      const held = await store.lock("work");
      await held.write(record(1));
      await server().query(url, "select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()");
      await expect.poll(() => store.isLocked("work").catch(() => false)).toBe(true); // it connected again
      await held.write(record(2));
      expect(await store.read("work")).toEqual(record(2));
      await owners[Symbol.asyncDispose]();
    });
  });
}
