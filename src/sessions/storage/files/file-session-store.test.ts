import { cp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { newStateDir, removeStateDir } from "../../../../test/support/managers.ts";
import { FileSessionStore } from "./file-session-store.ts";

let root: string;
let store: FileSessionStore;
beforeEach(async () => {
  root = await newStateDir();
  store = await FileSessionStore.open(root);
});
afterEach(() => removeStateDir(root));

const record = (id: string) => ({ version: 1 as const, id, workspace: `w-${id}`, createdMs: 1, usedMs: 1, runs: 0 });

async function write(id: string): Promise<void> {
  await using held = await store.lock(id);
  await held.write(record(id));
}

test("a record is read back under the id of its directory", async () => {
  await write("one");
  expect(await store.read("one")).toEqual(record("one"));
});

test.each(["two", "../../outside", ""])(
  "a record with the id %j in the directory of another session is damaged",
  async (id) => {
    await write("one");
    await cp(join(root, "sessions/one"), join(root, "sessions/three"), { recursive: true });
    await expect(store.read("three")).rejects.toMatchObject({ code: "snapshot_damaged" });
    const path = join(root, "sessions/one/session.json");
    await writeFile(path, (await readFile(path, "utf8")).replace('"id": "one"', `"id": ${JSON.stringify(id)}`));
    await expect(store.read("one")).rejects.toThrow(/belongs to session/);
  },
);
