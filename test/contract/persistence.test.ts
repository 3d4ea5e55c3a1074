import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, statSync } from "node:fs";
import { chmod, mkdir, readdir, readFile, rm, truncate, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { PolicyInput } from "../../src/policy/schema.ts";
import { processRunner } from "../../src/runners/process/runner.ts";
import type { Codecell } from "../../src/sessions/codecell.ts";
import type { Session } from "../../src/sessions/session.ts";
import { ManagerHome, runIn } from "../support/managers.ts";
import { copied, eventually, hostProcesses, skipsProcess, within } from "../support/process-cells.ts";

describe.skipIf(skipsProcess)("a persistent session", () => {
  let home: ManagerHome;
  let stateDir: string;
  beforeAll(async () => {
    home = await ManagerHome.make();
    stateDir = home.stateDir;
  });
  afterAll(() => home?.[Symbol.asyncDispose]());
  afterEach(() => home.clear());
  const policy = (session: PolicyInput["session"] = {}): PolicyInput => ({
    ...{ session: { persist: true, ...session }, proc: { timeout: "10s" } },
  });
  const open = (session: PolicyInput["session"] = {}) => home.open(policy(session));
  /** With a runner of its own, which leaves nothing mounted. */
  const openOn = (dir: string) => home.open(policy(), { runners: [processRunner({ layout: "template" })] }, dir);
  const restart = async (manager: Codecell, session: PolicyInput["session"] = {}) => {
    await manager[Symbol.asyncDispose]();
    return open(session);
  };
  const recordPath = (id: string) => join(stateDir, "sessions", id, "session.json");
  const snapshotPath = async (id: string) => {
    const names = await readdir(join(stateDir, "sessions", id));
    return join(stateDir, "sessions", id, names.find((name) => name.startsWith("snapshot-")) ?? "");
  };
  const begun = async (id = "kept") => {
    const manager = await open();
    const session = await manager.session(id);
    await runIn(
      session,
      "import threading\nx = [1, 2]\nlock = threading.Lock()\ndef f(): return x\nopen('file.txt', 'w').write('file')",
    );
    return { manager, session };
  };

  test("counts its runs over all processes, also where it tells what a crash left", async () => {
    const { manager } = await begun();
    const session = await (await restart(manager)).get("kept");
    const crash = "import os\nos._exit(1)";
    expect(await runIn(session, crash)).toMatchObject({
      ...{ id: 2, status: "crashed", state: "recovered", recoveredTo: 1 },
      notes: expect.arrayContaining(["variables are as they were after run 1"]),
    });
    expect(await runIn(session, "x")).toMatchObject({ id: 3, value: "[1, 2]" });
  });

  test("is restored with variables, files and history, and names what is missing", async () => {
    const { manager } = await begun();
    const [workspace = ""] = readdirSync(join(stateDir, "workspaces"));
    const killedUpload = join(stateDir, "workspaces", workspace, `.codecell-${"0".repeat(32)}.part`);
    await writeFile(killedUpload, "half");
    await utimes(killedUpload, 0, 0);
    const next = await restart(manager);
    expect(await next.list()).toMatchObject([{ id: "kept", state: "saved", runs: 1 }]);
    const session = await next.get("kept");
    const result = await runIn(session, "f(), open('file.txt').read()");
    expect(result).toMatchObject({ status: "ok", value: "([1, 2], 'file')" });
    expect(result.notes.join("; ")).toMatch(/restored from the save after run 1; not restored: lock/);
    expect(existsSync(killedUpload)).toBe(false);
    expect(await runIn(session, "1")).toMatchObject({ notes: [] });
    expect((await session.history()).map(({ run, status }) => ({ run, status }))).toEqual([
      { run: 1, status: "ok" },
      { run: 2, status: "ok" },
      { run: 3, status: "ok" },
    ]);
  });

  test("keeps what its runs printed, displayed and returned, also over a restart", async () => {
    const { manager, session } = await begun();
    await runIn(session, "print('out')\ndisplay({'image/png': b'x' * 10_000}, raw=True)\n1/0");
    await session.run("print('streamed')\n'v'", { isStreamed: true });
    const next = await (await restart(manager)).get("kept");
    const [, failed, streamed] = await next.history({ outputs: true });
    expect(failed?.outputs).toMatchObject({
      events: [
        { type: "stdout", text: "out\n" },
        { type: "display", mime: "image/png", data: Buffer.alloc(10_000, "x") },
      ],
      ...{ value: undefined, error: { name: "ZeroDivisionError" }, leftOutBytes: 0 },
    });
    expect(streamed?.outputs).toMatchObject({ events: [{ type: "stdout", text: "streamed\n" }], value: "'v'" });
    expect(await next.history({ limit: 1 })).toEqual([expect.not.objectContaining({ outputs: expect.anything() })]);
    await next.close({ forget: true });
    expect(existsSync(join(stateDir, "sessions", "kept"))).toBe(false);
  });

  test("loses only the variable whose value ends the interpreter when it is loaded, and names it", async () => {
    const manager = await open();
    await runIn(
      await manager.session("kept"),
      "import os\nclass Exits:\n    def __reduce__(self): return os._exit, (3,)\na = 1\nbad = Exits()\nb = [2]\nworse = [Exits()]\nc = 3",
    );
    const result = await runIn(await (await restart(manager)).get("kept"), "a, b, c, 'bad' in globals()");
    expect(result).toMatchObject({ status: "ok", value: "(1, [2], 3, False)" });
    const reason = "loading it ended the interpreter";
    expect(result.notes).toEqual([
      "variables were restored from the save after run 1",
      `not restored: bad (${reason}); worse (${reason})`,
    ]);
  });

  test("is saved on request, when idle, and during a run, which is stopped for it", async () => {
    const { manager, session } = await begun();
    expect(await session.save()).toMatchObject({ run: 1, skipped: [{ name: "lock" }] });
    await runIn(session, "x = 'later'");
    expect(await eventually(() => session.record.snapshot?.run === 2)).toBe(true);
    const going = session.run("y = 'in the middle'\nprint('on', flush=True)\nwhile True: pass");
    for await (const _ of going) break;
    const next = await restart(manager);
    expect(await going).toMatchObject({ status: "interrupted", state: "kept" });
    expect(await runIn(await next.get("kept"), "x, y")).toMatchObject({ value: "('later', 'in the middle')" });
  });

  test("that is idle is saved and closed, and the next call restores it", async () => {
    const manager = await open({ idle: "300ms" });
    const session = await manager.session("kept");
    await runIn(session, "x = 1");
    expect(await eventually(() => session.state === "closed")).toBe(true);
    const again = await within(10_000, manager.get("kept"));
    expect(await runIn(again, "x")).toMatchObject({ value: "1" });
  });

  test("that is closed while a run begins keeps what the run did, or the run says that it was stopped", async () => {
    const manager = await open();
    for (let n = 1; n <= 5; n++) {
      const session = await manager.session("kept");
      const run = session.run(`n = ${n}`); // marks the save as outdated first, which takes a moment
      await manager.closeSession("kept");
      const { status } = await run;
      const after = await runIn(await manager.session("kept"), "n if 'n' in globals() else 0");
      expect({ status, notes: after.notes.join("; ") }).toEqual({ status, notes: expect.not.stringContaining("lost") });
      if (status === "ok") expect(after.value).toBe(String(n));
      await manager.closeSession("kept");
    }
  });

  test("says that another Python version saved it", async () => {
    const { manager } = await begun();
    await manager[Symbol.asyncDispose]();
    const record = JSON.parse(await readFile(recordPath("kept"), "utf8"));
    record.snapshot.python = "3.99.1";
    await writeFile(recordPath("kept"), JSON.stringify(record));
    const next = await open();
    const { notes } = await runIn(await next.get("kept"), "x");
    expect(notes.join("; ")).toContain("saved by Python 3.99.1");
  });

  test.each([
    ["cut", async (path: string) => truncate(path, statSync(path).size - 1)],
    ["changed", async (path: string) => writeFile(path, Buffer.alloc(statSync(path).size))],
    ["gone", async (path: string) => rm(path)],
  ])("whose snapshot is %s keeps its files and reports the lost variables", async (_, damage) => {
    const { manager } = await begun();
    await manager[Symbol.asyncDispose]();
    await damage(await snapshotPath("kept"));
    const next = await open();
    const session = await next.get("kept");
    const result = await runIn(session, "open('file.txt').read(), 'x' in globals()");
    expect(result).toMatchObject({ status: "ok", value: "('file', False)" });
    expect(result.notes.join()).toMatch(/saved variables.*damaged.*without its variables/);
  });

  test("with a damaged record is refused with a hint, and its files are kept", async () => {
    const { manager } = await begun();
    await manager[Symbol.asyncDispose]();
    await truncate(recordPath("kept"), 40);
    const next = await open();
    await expect(next.get("kept")).rejects.toMatchObject({
      code: "snapshot_damaged",
      hint: expect.stringContaining("rm"),
    });
    await expect(next.session("kept")).rejects.toMatchObject({ code: "snapshot_damaged" });
    const [workspace] = readdirSync(join(stateDir, "workspaces"));
    expect(await readFile(join(stateDir, "workspaces", workspace ?? "", "file.txt"), "utf8")).toBe("file");
    await runIn(await next.session("other"), "1");
    await next.closeSession("kept", { forget: true });
    await expect(next.get("kept")).rejects.toMatchObject({ code: "session_unknown" });
  });

  test("is open in one process at a time, and no other can remove it", async () => {
    const { manager, session } = await begun();
    const other = await open();
    await expect(other.get("kept")).rejects.toMatchObject({ code: "session_busy" });
    await expect(other.closeSession("kept", { forget: true })).rejects.toMatchObject({ code: "session_busy" });
    const fleeting = await open({ persist: false });
    await expect(fleeting.get("kept")).rejects.toMatchObject({ code: "session_unknown" });
    await runIn(await fleeting.session("kept"), "x = 'another'");
    await fleeting.closeSession("kept");
    expect(await runIn(session, "x, open('file.txt').read()")).toMatchObject({ value: "([1, 2], 'file')" });
    await manager[Symbol.asyncDispose]();
    expect(await runIn(await other.get("kept"), "x")).toMatchObject({ value: "[1, 2]" });
  });

  test("keeps its files when a fork or parent that shares them is removed", async () => {
    const { manager } = await begun();
    await runIn(await manager.fork("kept", "fork"), "y = 'fork'");
    let next = await restart(manager);
    await next.closeSession("kept", { forget: true });
    expect(await runIn(await next.get("fork"), "x, y, open('file.txt').read()")).toMatchObject({
      value: "([1, 2], 'fork', 'file')",
    });
    next = await restart(next);
    await next.closeSession("fork", { forget: true });
    expect(readdirSync(join(stateDir, "workspaces"))).toEqual([]);
    expect(readdirSync(join(stateDir, "sessions"))).toEqual([]);
  });

  test("whose cell is killed before the first save reports lost variables, also in the next process", async () => {
    const { manager, session } = await begun();
    await runIn(session, "open('/proc/self/comm', 'w').write('kept-worker')");
    const worker = hostProcesses().find(({ status }) => status.Name === "kept-worker");
    process.kill(Number(worker?.status.PPid), "SIGKILL");
    await eventually(() => session.state !== "live");
    const next = await restart(manager);
    const result = await runIn(await next.get("kept"), "'x' in globals(), open('file.txt').read()");
    expect(result.value).toBe("(False, 'file')");
    expect(result.notes.join()).toContain("without them");
  });

  test("survives a value that crashes the interpreter during a save, and the next result says so", async () => {
    const { session } = await begun();
    await runIn(session, "import os\nclass Exits:\n    def __reduce__(self): os._exit(3)\nbad = Exits()");
    await copied();
    await expect(session.save()).rejects.toMatchObject({ code: "cell_lost" });
    await runIn(session, "z = 1");
    const notes = () => session.managed.live?.losses.notes.join();
    await expect.poll(notes).toContain("could not be saved"); // by itself, after two seconds
    const told = await runIn(session, "x, z");
    expect(told).toMatchObject({ status: "ok", value: "([1, 2], 1)" });
    expect(told.notes.join()).toContain("could not be saved");
  });

  describe("whose interpreter dies between two runs and goes back to run 1", () => {
    /** Run 2 exits when the host says so. It cannot be copied: its process may not fork. */
    const doomed = [
      "import os, resource, threading, time",
      "x = 2",
      "def wait():",
      "    while not os.path.exists('/workspace/die'): time.sleep(0.01)",
      "    os._exit(1)",
      "threading.Thread(target=wait).start()",
      "resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))",
    ].join("\n");
    const afterRun2 = async () => {
      const manager = await open();
      const session = await manager.session("kept");
      await runIn(session, "x = 1");
      await runIn(session, doomed);
      return { manager, session };
    };
    const die = async (session: Session) => {
      await session.upload("die", Buffer.from(""));
      expect(await eventually(() => session.managed.live?.losses.isUnseen === true)).toBe(true);
    };

    test("keeps the save of run 2, although a variable was set since", async () => {
      const { manager, session } = await afterRun2();
      expect(await session.save()).toMatchObject({ run: 2 });
      await die(session);
      await session.set("y", 1);
      const next = await restart(manager);
      const result = await runIn(await next.get("kept"), "x");
      expect(result.value).toBe("2");
      expect(result.notes).toContain("variables were restored from the save after run 2; later changes are lost");
    });

    test("is saved as what it is, the state after run 1, and the next process reports the loss", async () => {
      const { manager, session } = await afterRun2();
      await die(session);
      const next = await restart(manager);
      expect(await next.info("kept")).toMatchObject({ runs: 2, snapshot: { run: 1 } });
      const result = await runIn(await next.get("kept"), "x");
      expect(result.value).toBe("1");
      expect(result.notes.join("; ")).toMatch(/between two runs:; the interpreter exited with code 1; .*after run 1/);
      expect((await runIn(await next.get("kept"), "x")).notes).toEqual([]);
    });

    test("is saved on request only after its caller was told", async () => {
      const { session } = await afterRun2();
      await session.save();
      await die(session);
      const refused = {
        code: "cell_lost",
        message: expect.stringMatching(/not saved: between two runs.*after run 2 is kept/),
      };
      await expect(session.save()).rejects.toMatchObject(refused);
      expect(await session.save()).toMatchObject({ run: 1 });
    });
  });

  test("without recovery keeps its save when its interpreter dies, and the next process says what is lost", async () => {
    const manager = await open({ recovery: "off" });
    const session = await manager.session("kept");
    await runIn(session, "x = 1");
    await session.save();
    await runIn(session, "import os, threading\nx = 2\nthreading.Timer(0.01, os._exit, [1]).start()");
    expect(await eventually(() => session.managed.live?.losses.isUnseen === true)).toBe(true);
    const next = await restart(manager, { recovery: "off" });
    const result = await runIn(await next.get("kept"), "x");
    expect(result.value).toBe("1");
    expect(result.notes).toContain("variables were restored from the save after run 1; later changes are lost");
  });

  const canMount = process.getuid?.() === 0 && canMountTmpfs();
  test.skipIf(!canMount)(
    "on a full disk keeps its last save, its cell and its files, and reports the failure",
    async () => {
      const dir = join(stateDir, "small");
      await mkdir(dir);
      execFileSync("mount", ["-t", "tmpfs", "-o", "size=6m,mode=0711", "none", dir]);
      try {
        await chmod(dir, 0o711);
        const manager = await openOn(dir);
        const session = await manager.session("kept");
        await runIn(session, "x = 'small'\nopen('file.txt', 'w').write('file')");
        await session.save();
        await runIn(session, "import os\nbig = os.urandom((8 << 20) - 4096)");
        const failure = session.save();
        await expect(failure).rejects.toMatchObject({
          code: "disk_failed",
          message: expect.stringContaining("no space"),
        });
        expect(await runIn(session, "x, len(big)")).toMatchObject({
          status: "ok",
          value: `('small', ${(8 << 20) - 4096})`,
        });
        expect(readdirSync(join(dir, "sessions", "kept")).filter((name) => name.endsWith(".draft"))).toEqual([]);
        await manager[Symbol.asyncDispose]();
        const next = await openOn(dir);
        const result = await runIn(await next.get("kept"), "x, open('file.txt').read(), 'big' in globals()");
        expect(result.value).toBe("('small', 'file', False)");
        expect(result.notes.join()).toMatch(/restored from the save after run 1; later changes are lost/);
      } finally {
        await home.closeManagers();
        execFileSync("umount", [dir]);
      }
    },
  );
});

function canMountTmpfs(): boolean {
  try {
    execFileSync("unshare", ["-m", "mount", "-t", "tmpfs", "none", "/mnt"], { stdio: "ignore" });
    return true;
  } catch {
    console.warn("skipped: a full disk needs a mount of its own, and mounting is not permitted here");
    return false;
  }
}
