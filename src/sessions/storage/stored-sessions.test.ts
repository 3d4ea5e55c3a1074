import { chmod, mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { takeLock } from "../../lib/files/liveness-lock.ts";
import { openRuntimeDirectory } from "../../lib/files/runtime-directory.ts";
import { FileSessionStore } from "./files/file-session-store.ts";
import { ownerLock } from "./files/remove-orphans.ts";
import { StoredSessions } from "./stored-sessions.ts";

const deadOwner = "m00000000000d";
const livingOwner = "m00000000000a";
let base: string;
let runtimeDir: string;
let store: FileSessionStore;
let stored: StoredSessions;

beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), "cc-stored-"));
  await chmod(base, 0o711);
  runtimeDir = join(base, "run");
  store = await FileSessionStore.open(join(base, "state"), await openRuntimeDirectory(runtimeDir));
  stored = await StoredSessions.open({ stateDir: join(base, "state"), runtimeDir });
});
afterEach(() => rm(base, { recursive: true, force: true }));

async function keep(id: string, workspace: string): Promise<void> {
  await mkdir(join(store.workspaces.directory, workspace), { recursive: true });
  await using held = await store.lock(id);
  await held.write({ version: 1, id, workspace, createdMs: 0, usedMs: 0, runs: 0, snapshot: undefined });
}

test("a session that another process has open is listed as live and is not removed", async () => {
  await keep("work", `${deadOwner}-1`);
  const lock = await store.lock("work");
  expect(await stored.find("work")).toMatchObject({ state: "live" });
  await expect(stored.remove("work")).rejects.toMatchObject({ code: "session_busy" });
  await lock[Symbol.asyncDispose]();
  expect(await stored.find("work")).toMatchObject({ state: "saved" });
  expect(await stored.remove("work")).toEqual({ files: "removed" });
  expect(await readdir(store.workspaces.directory)).toEqual([]);
});

test("removing a session keeps the files that its fork uses", async () => {
  await keep("parent", `${deadOwner}-1`);
  await keep("fork", `${deadOwner}-1`);
  expect(await stored.remove("parent")).toEqual({ files: "shared" });
  expect(await readdir(store.workspaces.directory)).toEqual([`${deadOwner}-1`]);
  expect(await stored.remove("fork")).toEqual({ files: "removed" });
  expect(await readdir(store.workspaces.directory)).toEqual([]);
});

test("removing a damaged session removes its files and no others", async () => {
  await keep("bad", `${deadOwner}-1`);
  await keep("other", `${deadOwner}-2`);
  await mkdir(join(store.workspaces.directory, `${livingOwner}-1`));
  await writeFile(join(base, "state", "sessions", "bad", "session.json"), "{");
  await mkdir(runtimeDir, { recursive: true });
  const living = await takeLock(ownerLock(runtimeDir, livingOwner));
  expect(await stored.find("bad")).toMatchObject({ state: "damaged" });
  await stored.remove("bad");
  expect(await store.list()).toEqual(["other"]);
  expect((await readdir(store.workspaces.directory)).sort()).toEqual([`${livingOwner}-1`, `${deadOwner}-2`]);
  await living?.[Symbol.asyncDispose]();
});

test("removing a session keeps its files while a damaged record may name them", async () => {
  await keep("bad", `${deadOwner}-1`);
  await keep("other", `${deadOwner}-2`);
  await writeFile(join(base, "state", "sessions", "bad", "session.json"), "{");
  expect(await stored.remove("other")).toEqual({ files: "shared" });
  await stored.remove("bad");
  expect(await readdir(store.workspaces.directory)).toEqual([]);
});

test("a session that does not exist is reported as session_unknown", async () => {
  const questions = [
    () => stored.find("x"),
    () => stored.remove("x"),
    () => stored.record("x"),
    () => stored.history("x", 1),
  ];
  for (const ask of questions) await expect(ask()).rejects.toMatchObject({ code: "session_unknown" });
  await expect(stored.find("../x")).rejects.toMatchObject({ code: "usage" });
});
