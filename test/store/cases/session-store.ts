import { randomBytes } from "node:crypto";
import { chmod, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { FileSessionStore } from "../../../src/sessions/storage/files/file-session-store.ts";
import { PostgresSessionStore } from "../../../src/sessions/storage/postgres/postgres-session-store.ts";
import type { SessionRecord } from "../../../src/sessions/storage/session-record.ts";
import type { SessionStorage, StorageMedium } from "../../../src/sessions/storage/session-storage.ts";
import type { Database } from "../../../src/store/postgres/database.ts";
import { openDatabase } from "../../../src/store/postgres/open-database.ts";
import type { PostgresServer } from "../../support/postgres.ts";

const record = (id: string, facts: Partial<SessionRecord> = {}): SessionRecord => ({
  ...{ version: 1, id, workspace: `w-${id}`, createdMs: 1, usedMs: 1, runs: 0, ...facts },
});
const entry = (run: number) => ({
  run,
  atMs: run,
  language: "python",
  code: `x = ${run}`,
  status: "ok",
  durationMs: 1,
});
const snapshotFacts = { savedMs: 1, run: 1, python: "3.11", runner: "process", saved: ["x"], skipped: [] };
async function* pieces(...parts: Uint8Array[]) {
  yield* parts;
}
async function bytesOf(source: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const part of source) parts.push(part);
  return Buffer.concat(parts);
}

/** The same expectations of every store. */
export function sessionStoreCases(medium: StorageMedium, server?: () => PostgresServer): void {
  describe(`sessions in ${medium}`, () => {
    let base: string;
    let store: SessionStorage;
    /** the store as another process sees it */
    let other: SessionStorage;
    let database: Database | undefined;

    beforeAll(async () => {
      base = await mkdtemp(join(tmpdir(), "cc-store-"));
      await chmod(base, 0o711);
      if (server) database = await openDatabase(await server().newDatabase());
      const open = async (stateDir: string) =>
        database
          ? PostgresSessionStore.open({ database, stateDir: join(base, stateDir) })
          : FileSessionStore.open(join(base, "state"), base);
      store = await open("one");
      other = await open("two");
    });
    afterEach(async () => {
      await database?.query("truncate codecell.sessions cascade");
      await rm(join(base, "state", "sessions"), { recursive: true, force: true });
      await mkdir(join(base, "state", "sessions"), { recursive: true });
    });
    afterAll(async () => {
      await store[Symbol.asyncDispose]();
      await other[Symbol.asyncDispose]();
      await database?.[Symbol.asyncDispose]();
      await rm(base, { recursive: true, force: true });
    });

    test("a record is read back by everybody, also with characters that databases dislike", async () => {
      await using held = await store.lock("one");
      const odd = record("one", { unreported: ["a\0b \ud800 \u2028 ' \" \\ {}"] });
      await held.write(odd);
      expect(await other.read("one")).toEqual(odd);
      expect(await other.read("two")).toBeUndefined();
    });

    test("a session is held by one process at a time, and can be taken once it is given back", async () => {
      const held = await store.lock("one");
      expect(await other.isLocked("one")).toBe(true);
      await expect(other.lock("one")).rejects.toMatchObject({ code: "session_busy" });
      await expect(store.lock("one")).rejects.toMatchObject({ code: "session_busy" });
      await held[Symbol.asyncDispose]();
      expect(await other.isLocked("one")).toBe(false);
      await (await other.lock("one"))[Symbol.asyncDispose]();
    });

    test("a session that was never saved is not listed, and nothing stays of it", async () => {
      const held = await store.lock("one");
      expect(await other.list()).toEqual([]);
      expect(await other.read("one")).toBeUndefined();
      await held[Symbol.asyncDispose]();
      await store.removeUnfinished();
      expect(await store.list()).toEqual([]);
    });

    test("sessions are listed by the prefix of their tenant, sorted", async () => {
      for (const id of ["ns-00000000000a.b", "ns-00000000000a.a", "ns-00000000000b.a", "plain"]) {
        await using held = await store.lock(id);
        await held.write(record(id, { workspace: "w" }));
      }
      expect(await other.list("ns-00000000000a.")).toEqual(["ns-00000000000a.a", "ns-00000000000a.b"]);
      expect((await other.records("ns-00000000000b.")).map(({ id }) => id)).toEqual(["ns-00000000000b.a"]);
      expect(await other.list()).toHaveLength(4);
      expect(await other.list("ns-00000000000a.%")).toEqual([]);
    });

    test("the workspaces that saved sessions use are known", async () => {
      await using held = await store.lock("one");
      await held.write(record("one", { workspace: "used" }));
      expect([...(await other.namedAmong(["used", "free"]))]).toEqual(["used"]);
      expect([...(await other.namedAmong([]))]).toEqual([]);
    });

    test("the mark of unsaved variables is seen by who opens the session next", async () => {
      const held = await store.lock("one");
      await held.write(record("one"));
      expect(await other.isUnsaved("one")).toBe(false);
      await held.markUnsaved(true);
      expect(await other.isUnsaved("one")).toBe(true);
      await held.markUnsaved(false);
      expect(await other.isUnsaved("one")).toBe(false);
      await held[Symbol.asyncDispose]();
    });

    test("the latest entries of the history come back, oldest first", async () => {
      await using held = await store.lock("one");
      await held.write(record("one"));
      for (const run of [1, 2, 3]) await held.appendHistory({ ...entry(run), code: "a\0b" });
      expect([await other.lastRun("one"), await other.lastRun("two")]).toEqual([3, 0]);
      expect(await other.history("one", 2)).toEqual([2, 3].map((run) => ({ ...entry(run), code: "a\0b" })));
    });

    test("outputs come back with their runs, with large displays and silent runs", async () => {
      await using held = await store.lock("one");
      await held.write(record("one"));
      const data = randomBytes(10_000);
      const display = { type: "display" as const, display: 1, mime: "image/png", data };
      const outputs = {
        events: [{ type: "stdout" as const, text: "hi\0" }, display],
        value: "1",
        error: undefined,
        leftOutBytes: 0,
      };
      await held.appendOutputs([
        { run: 1, atMs: 1, outputs },
        { run: 2, atMs: 2, outputs },
      ]);
      const silent = { ...entry(3), isSilent: true as const };
      const [first, second, third, unknown] = await other.withOutputs("one", [entry(1), entry(2), silent, entry(4)]);
      expect(first?.outputs).toMatchObject({ value: "1", events: [{ text: "hi\0" }, { mime: "image/png" }] });
      const [, shown] = second?.outputs?.events ?? [];
      expect(shown?.type === "display" && data.equals(shown.data)).toBe(true);
      expect(third?.outputs).toMatchObject({ events: [] });
      expect(unknown?.outputs).toBeUndefined();
    });

    test("a snapshot of several megabytes comes back as it was, and the older one stays until it is pruned", async () => {
      await using held = await store.lock("one");
      const [before, after] = [randomBytes(100), randomBytes(3 * 2 ** 20 + 17)];
      const older = await held.writeSnapshot(before);
      await held.write(record("one", { snapshot: { ...older, ...snapshotFacts } }));
      const newer = await held.writeSnapshot(after);
      expect(Buffer.from(await other.readSnapshot("one", { ...older, ...snapshotFacts })).equals(before)).toBe(true);
      const saved = record("one", { snapshot: { ...newer, ...snapshotFacts } });
      await held.write(saved);
      await held.pruneSnapshots(saved);
      expect(Buffer.from(await other.readSnapshot("one", { ...newer, ...snapshotFacts })).equals(after)).toBe(true);
      await expect(other.readSnapshot("one", { ...older, ...snapshotFacts })).rejects.toMatchObject({
        code: "snapshot_damaged",
      });
    });

    test("an empty snapshot, and the same snapshot twice, are stored", async () => {
      await using held = await store.lock("one");
      await held.write(record("one"));
      const empty = await held.writeSnapshot(new Uint8Array());
      expect(await held.writeSnapshot(new Uint8Array())).toEqual(empty);
      expect((await other.readSnapshot("one", { ...empty, ...snapshotFacts })).byteLength).toBe(0);
    });

    test("blobs are stored under their hash, bounded, and pruned", async () => {
      await using held = await store.lock("one");
      await held.write(record("one"));
      const [a, b] = [randomBytes(2 ** 20 + 1), randomBytes(10)];
      const first = await held.writeBlob(pieces(a.subarray(0, 5), a.subarray(5)), { maxBytes: 2 ** 21 });
      const second = await held.writeBlob(pieces(b), { maxBytes: 10 });
      expect(first.bytes).toBe(a.byteLength);
      expect((await bytesOf(other.readBlob("one", first.sha256))).equals(a)).toBe(true);
      for (const start of [1, 2 ** 20 - 1, 2 ** 20, 2 ** 20 + 1, 2 ** 21])
        expect((await bytesOf(other.readBlob("one", first.sha256, start))).equals(a.subarray(start))).toBe(true);
      await expect(held.writeBlob(pieces(b), { maxBytes: 9 })).rejects.toMatchObject({ code: "too_large" });
      await held.pruneBlobs(new Set([second.sha256]));
      await expect(bytesOf(other.readBlob("one", first.sha256))).rejects.toMatchObject({ code: "file_missing" });
      expect((await bytesOf(other.readBlob("one", second.sha256))).equals(b)).toBe(true);
      await expect(bytesOf(other.readBlob("two", second.sha256))).rejects.toMatchObject({ code: "file_missing" });
    });

    test("nothing stays of a session that is forgotten", async () => {
      const held = await store.lock("one");
      await held.write(record("one"));
      await held.appendHistory(entry(1));
      const { sha256 } = await held.writeBlob(pieces(randomBytes(10)), { maxBytes: 10 });
      await held.forget();
      await held[Symbol.asyncDispose]();
      expect(await other.list()).toEqual([]);
      expect(await other.history("one", 10)).toEqual([]);
      await expect(bytesOf(other.readBlob("one", sha256))).rejects.toMatchObject({ code: "file_missing" });
      await using again = await other.lock("one");
      expect(again.id).toBe("one");
    });

    test("an id that could be a path or part of a statement is refused", async () => {
      for (const id of ["../x", "a'b", "", "x".repeat(65)]) {
        await expect(store.lock(id)).rejects.toMatchObject({ code: "usage" });
        await expect(store.read(id)).rejects.toMatchObject({ code: "usage" });
      }
    });
  });
}
