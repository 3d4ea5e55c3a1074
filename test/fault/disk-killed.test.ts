import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { StoredSessions } from "../../src/sessions/storage/stored-sessions.ts";
import { mountsBelow, noExactDisk, withExactDisk } from "../support/exact-disk.ts";
import { newStateDir, openManager, removeStateDir, runIn } from "../support/managers.ts";
import { skipsProcess } from "../support/process-cells.ts";

const script = fileURLToPath(new URL("disk-host.mjs", import.meta.url));
const built = fileURLToPath(new URL("../../dist/bundled/index.js", import.meta.url));
const policy = { proc: { disk: "8MiB", exactDisk: true }, session: { persist: true } } as const;

/** Starts a process with a session on a disk, and kills it. */
async function killHost(stateDir: string, persists: boolean): Promise<void> {
  const host = spawn(process.execPath, [script, built, stateDir, String(persists)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [said] = await once(host.stdout, "data");
  expect(String(said)).toBe("ready\n");
  host.kill("SIGKILL");
  await once(host, "exit");
}

describe.skipIf(skipsProcess || noExactDisk)(
  withExactDisk("a process that is killed while sessions have disks"),
  () => {
    let stateDir: string;
    beforeAll(async () => {
      stateDir = await newStateDir();
    });
    afterAll(() => removeStateDir(stateDir));

    const files = async (): Promise<string> => {
      const stored = await StoredSessions.open({ stateDir });
      await using opened = await stored.files(await stored.record("kept"));
      return Buffer.from((await opened.read("data")).data).toString();
    };
    const loopDevices = async () => {
      const names = (await readdir("/sys/block")).filter((name) => name.startsWith("loop"));
      const backed = names.map((name) => readFile(`/sys/block/${name}/loop/backing_file`, "utf8").catch(() => ""));
      return (await Promise.all(backed)).filter((path) => path.startsWith(stateDir));
    };

    test("leaves nothing of a session that does not persist, once the next process has started", async () => {
      await killHost(stateDir, false);
      expect((await mountsBelow(stateDir)).length).toBeGreaterThan(0);
      const manager = await openManager(stateDir, policy);
      await expect.poll(() => mountsBelow(stateDir)).toEqual([]);
      await manager.close();
      expect((await readdir(join(stateDir, "workspaces.disks"))).filter((name) => !name.endsWith(".owner"))).toEqual(
        [],
      );
      expect(await readdir(join(stateDir, "workspaces"))).toEqual([]);
      await expect.poll(loopDevices).toEqual([]);
    });

    test("keeps the files of a session that persists: readable while it is not live, and in its next cell", async () => {
      await killHost(stateDir, true);
      expect(await files()).toBe("text");
      const manager = await openManager(stateDir, policy);
      const session = await manager.session("kept");
      expect((await runIn(session, "x, open('data').read()")).value).toBe("(41, 'text')");
      expect(await files()).toBe("text"); // another process may read it while a cell uses it
      await runIn(session, "open('data', 'w').write('more')");
      await manager.close();
      expect(await mountsBelow(stateDir)).toEqual([]);
      expect(await files()).toBe("more");
      expect(await mountsBelow(stateDir)).toEqual([]);
      await expect.poll(loopDevices).toEqual([]);
    });

    test("a session that was saved on a disk works without proc.exactDisk, and is removed with its disk", async () => {
      const manager = await openManager(stateDir, { session: { persist: true } });
      const session = await manager.session("kept");
      expect((await runIn(session, "open('data').read()")).value).toBe("'more'");
      const row = (await session.receipt()).rules.find(({ rule }) => rule === "proc.disk");
      expect(row?.by).toBe("host watchdog");
      await session.close({ forget: true });
      await manager.close();
      expect((await readdir(join(stateDir, "workspaces.disks"))).filter((name) => name.endsWith(".img"))).toEqual([]);
    });
  },
);
