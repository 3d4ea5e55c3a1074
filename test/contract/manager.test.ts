import { readdirSync } from "node:fs";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { PolicyInput } from "../../src/policy/schema.ts";
import type { CodecellOptions } from "../../src/sessions/codecell-options.ts";
import { ManagerHome, runIn } from "../support/managers.ts";
import { eventually, hostProcesses, idle, ownCells, skipsProcess, within } from "../support/process-cells.ts";

describe.skipIf(skipsProcess)("a Codecell", () => {
  let home: ManagerHome;
  beforeAll(async () => {
    home = await ManagerHome.make();
  });
  afterAll(() => home?.[Symbol.asyncDispose]());
  afterEach(() => home.clear());
  const open = (session: PolicyInput["session"] = {}, options: Partial<CodecellOptions> = {}) =>
    home.open({ session, proc: { timeout: "10s" } }, options);

  describe("by id", () => {
    test("opens one session for simultaneous calls with the same id", async () => {
      const manager = await open();
      const all = await Promise.all(Array.from({ length: 12 }, () => manager.session("one")));
      expect(new Set(all).size).toBe(1);
      expect(await manager.list()).toHaveLength(1);
      expect(await manager.get("one")).toBe(all[0]);
    });

    test("makes unguessable ids, and refuses ids that could be a path", async () => {
      const manager = await open();
      const made = await Promise.all([manager.session(), manager.session()]);
      expect(made[0]?.id).not.toBe(made[1]?.id);
      for (const { id } of made) expect(id).toMatch(/^s-\w{20,}$/);
      for (const id of ["", "../x", "a/b", ".hidden", "a\0b", "a b", "x".repeat(65), "a..b", "-a"]) {
        await expect(manager.session(id)).rejects.toMatchObject({ code: "usage" });
        await expect(manager.get(id)).rejects.toMatchObject({ code: "usage" });
        await expect(manager.closeSession(id)).rejects.toMatchObject({ code: "usage" });
      }
    });

    test("does not find a session that never existed or is closed", async () => {
      const manager = await open();
      await expect(manager.get("never")).rejects.toMatchObject({ code: "session_unknown" });
      await expect(manager.closeSession("never")).rejects.toMatchObject({ code: "session_unknown" });
      await expect(manager.fork("never")).rejects.toMatchObject({ code: "session_unknown" });
      const session = await manager.session("here");
      await manager.closeSession("here");
      await expect(session.run("1")).rejects.toMatchObject({ code: "session_closed" });
      await expect(manager.get("here")).rejects.toMatchObject({ code: "session_unknown" });
      expect(readdirSync(`${home.stateDir}/workspaces`)).toEqual([]);
    });

    test("gives an id to only one of two simultaneous forks, and leaks neither", async () => {
      const manager = await open();
      await runIn(await manager.session("parent"), "x = 1");
      const forks = await Promise.allSettled([manager.fork("parent", "twin"), manager.fork("parent", "twin")]);
      expect(forks.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
      expect(forks.find(({ status }) => status === "rejected")).toMatchObject({ reason: { code: "usage" } });
      const parent = await manager.info("parent");
      expect(parent.sharers).toBe(2);
      await manager.closeSession("twin");
      expect((await manager.info("parent")).sharers).toBe(1);
    });

    test("reuses the id of a closed session, also while the old one is still closing", async () => {
      const manager = await open();
      await runIn(await manager.session("again"), "x = 1");
      const closing = manager.closeSession("again");
      const fresh = await manager.session("again");
      await closing;
      expect(await runIn(fresh, "'x' in globals()")).toMatchObject({ value: "False" });
    });
  });

  describe("at its limit", () => {
    test("refuses the next session, or lets it wait until another closes", async () => {
      const manager = await open({ limit: 2 });
      await manager.session("a");
      await manager.session("b");
      await expect(manager.session("c")).rejects.toMatchObject({ code: "session_limit" });
      await expect(manager.fork("a")).rejects.toMatchObject({ code: "session_limit" });
      await expect(manager.session("c", { waitMs: 60 })).rejects.toMatchObject({ code: "session_limit" });
      const waiting = manager.session("d", { waitMs: 20_000 });
      await idle(20);
      await manager.closeSession("a");
      expect((await within(10_000, waiting)).id).toBe("d"); // before its own wait of 20 s is over
      expect((await manager.session("b")).id).toBe("b");
    });

    test("ends waiting calls when it closes", async () => {
      const manager = await open({ limit: 1 });
      await manager.session("a");
      const waiting = manager.session("b", { waitMs: 60_000 });
      waiting.catch(() => {});
      await idle(20);
      await within(10_000, manager[Symbol.asyncDispose]());
      await expect(waiting).rejects.toMatchObject({ code: "session_closed" });
    });
  });

  describe("over time", () => {
    test("closes an idle session and tells the next caller why, once", async () => {
      const manager = await open({ idle: "250ms" });
      const session = await manager.session("idler");
      await runIn(session, "open('f', 'w').write('x')");
      expect(await eventually(() => session.state === "closed")).toBe(true);
      await expect(session.run("1")).rejects.toMatchObject({ code: "session_culled" });
      await expect(manager.get("idler")).rejects.toMatchObject({
        code: "session_culled",
        message: expect.stringContaining("session.idle"),
      });
      expect(await runIn(await manager.session("idler"), "import os\nos.listdir()")).toMatchObject({
        value: "[]",
      });
    });

    test("does not close a session that is running or is used repeatedly", async () => {
      const manager = await open({ idle: "2s" }); // much longer than the pauses, also on a busy machine
      const session = await manager.session("busy");
      expect(await runIn(session, "import time\ntime.sleep(2.5)\nx = 1")).toMatchObject({ status: "ok" });
      for (let round = 0; round < 6; round++) {
        await idle(400);
        expect(await runIn(session, "x")).toMatchObject({ value: "1" });
      }
    });

    test("counts each chunk of an upload as a use, however long the upload takes", async () => {
      let time = 0;
      const manager = await open({}, { now: () => time });
      const session = await manager.session("taker");
      const used: number[] = [];
      async function* pieces() {
        for (time = 1; time <= 3; time++) {
          yield Buffer.from("piece ");
          used.push(session.usedMs);
        }
      }
      await session.upload("f", pieces());
      expect(used).toEqual([1, 2, 3]);
      expect(await runIn(session, "open('f').read()")).toMatchObject({ value: "'piece piece piece '" });
    });

    test("closes a session at the end of its lifetime, and its run says so", async () => {
      const manager = await open({ lifetime: "300ms" });
      const session = await manager.session("old");
      const run = session.run("while True: pass");
      expect(await within(10_000, run)).toMatchObject({ state: "lost" });
      await expect(manager.get("old")).rejects.toMatchObject({
        code: "session_culled",
        message: expect.stringContaining("session.lifetime"),
      });
    });
  });

  describe("with simultaneous calls", () => {
    test("refuses a second run, or queues runs in order", async () => {
      const manager = await open();
      const session = await manager.session("queue");
      const first = session.run("import time\ntime.sleep(0.3)\norder = [0]");
      await expect(session.run("1")).rejects.toMatchObject({ code: "session_busy" });
      const queued = [1, 2, 3, 4, 5].map((n) => runIn(session, `order.append(${n})`, { whenBusy: "queue" }));
      expect((await first).status).toBe("ok");
      for (const result of await Promise.all(queued)) expect(result.status).toBe("ok");
      expect(await runIn(session, "order")).toMatchObject({ value: "[0, 1, 2, 3, 4, 5]" });
    });
  });

  describe("whose cell dies between two runs", () => {
    test.each([true, false])(
      "says in the next result whether the variables survived (persist: %s)",
      async (persist) => {
        const manager = await open({ persist });
        const session = await manager.session("victim");
        await runIn(
          session,
          "x = 1\nopen('kept.txt', 'w').write('file')\nopen('/proc/self/comm', 'w').write('victim-cell')",
        );
        const worker = hostProcesses().find(({ status }) => status.Name === "victim-cell");
        process.kill(Number(worker?.status.PPid), "SIGKILL");
        expect(await eventually(() => session.state !== "live")).toBe(true);
        const next = await runIn(session, "'x' in globals(), open('kept.txt').read()");
        expect(next).toMatchObject({ status: "ok", value: "(False, 'file')" });
        expect(next.notes.join()).toMatch(/variables/);
        expect(await runIn(session, "1")).toMatchObject({ notes: [] });
      },
    );
  });

  describe("with a pool", () => {
    test("hands out a cell without a trace of waiting", async () => {
      const manager = await open({ pool: 1 });
      await manager.poolFilled();
      const session = await manager.session();
      expect(manager.poolStatistics).toMatchObject({ hits: 1 });
      expect(await session.variables()).toEqual([]);
      expect(await runIn(session, "'_' in globals() or hasattr(__builtins__, '_')")).toMatchObject({ value: "False" });
      expect(session.info.runs).toBe(1);
      const failed = await runIn(session, "1 / 0");
      expect(failed.error?.traceback).toContain("<run 2>");
    });

    test("counts the sessions that waited for a cell, and how long", async () => {
      const manager = await open({ pool: 1 });
      await manager.poolFilled();
      await Promise.all([manager.session("first"), manager.session("second")]);
      expect(manager.poolStatistics).toMatchObject({ hits: 1, misses: 1 });
      expect(manager.poolStatistics.missWaitMs).toBeGreaterThan(0);
    });

    test("hands each cell out once, and never a dead one", async () => {
      const manager = await open({ pool: 2 });
      await manager.poolFilled();
      const one = await manager.session();
      const two = await manager.session();
      await runIn(one, "x = 1; open('mine', 'w').write('x')");
      expect(await runIn(two, "import os\n'x' in globals(), os.listdir()")).toMatchObject({ value: "(False, [])" });
      expect(manager.poolStatistics).toMatchObject({ hits: 2, target: 2 });
      await manager.closeSession(one.id);
      await manager.closeSession(two.id);
      await manager.poolFilled();
      expect(manager.poolStatistics.ready).toBe(2);
      const cells = ownCells();
      expect(cells).toHaveLength(2);
      for (const { pid } of cells) process.kill(pid, "SIGKILL");
      await idle(200);
      const session = await within(10_000, manager.session("after"));
      expect(await runIn(session, "40 + 2")).toMatchObject({ status: "ok", value: "42" });
    });
  });
});
