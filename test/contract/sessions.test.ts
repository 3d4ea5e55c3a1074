import { existsSync, readdirSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CodecellError } from "../../src/lib/errors.ts";
import type { LiveSession } from "../../src/sessions/live-session.ts";
import type { LiveSessions } from "../../src/sessions/live-sessions.ts";
import {
  bothLayouts,
  copied,
  eventually,
  hostProcesses,
  idle,
  type Layout,
  look,
  openCells,
  run,
  skipsProcess,
  within,
} from "../support/process-cells.ts";
import { stubborn } from "../support/stubborn.ts";
import { isThorough } from "../support/thorough.ts";

const crash = "import os\nos._exit(9)";

/** Both layouts start the same supervisor, which makes copies. In the direct layout, CI asks what depends on the start of the cell. */
const asksOnlyOnce = ({ options }: Layout) => options.layout === "direct" && !isThorough;

const isLoss = (error: unknown) => error instanceof CodecellError && error.code === "cell_lost";

describe.skipIf(skipsProcess).each(bothLayouts)("checkpoints in the $name", (layout) => {
  let codecell: LiveSessions;
  let session: LiveSession;
  beforeAll(async () => {
    codecell = await openCells(layout, { proc: { timeout: "10s" }, session: { checkpoints: 3 } });
  });
  afterAll(() => codecell?.close());
  const open = async () => {
    await session?.close();
    session = await codecell.openSession();
    return session;
  };
  const value = async (expression: string) => (await run(session, expression)).value;

  test("can be restored repeatedly, in any order", async () => {
    await open();
    for (const name of ["a", "b", "c"]) {
      await run(session, `x = ${JSON.stringify(name)}\nitems = ["${name}"]`);
      await session.checkpoint(name);
    }
    for (const name of ["b", "a", "a", "c", "b", "c", "a"]) {
      await session.rollback(name);
      expect(await value("x, items")).toBe(`('${name}', ['${name}'])`);
      await run(session, "items.append('changed'); x = 'changed'");
    }
    expect(session.checkpoints.map(({ name }) => name)).toEqual(["a", "b", "c"]);
  });

  test("survive a crash, a reset and a killed run", async () => {
    await open();
    await run(session, "x = 'saved'");
    await session.checkpoint("safe");
    await run(session, crash);
    await session.rollback("safe");
    expect(await value("x")).toBe("'saved'");
    await session.reset();
    expect(await run(session, "x")).toMatchObject({ status: "error", error: { name: "NameError" } });
    await session.rollback("safe");
    expect(await value("x")).toBe("'saved'");
    expect(await run(session, stubborn, { timeoutMs: 2_000 })).toMatchObject({ status: "timeout", state: "recovered" });
    await session.rollback("safe");
    expect(await value("x")).toBe("'saved'");
    await session.reset();
    await run(session, crash);
    await session.rollback("safe");
    expect(await value("x")).toBe("'saved'");
  });

  test("leak no file descriptors in the supervisor", async () => {
    await open();
    await run(session, "x = 1");
    await session.checkpoint("here");
    const used = () => look(session, "import os\nprint(max(int(n) for n in os.listdir('/proc/self/fd')))");
    const before = Number(await used());
    for (let round = 0; round < 12; round++) {
      await session.rollback("here");
      if (round % 3 === 0) await session.reset();
    }
    await session.rollback("here");
    expect(Number(await used())).toBeLessThanOrEqual(before);
  });

  if (asksOnlyOnce(layout)) return;

  test("are refused for a state that was recovered without the caller's knowledge", async () => {
    await open();
    await run(session, "x = 'before'\nopen('/proc/self/comm', 'w').write('while-nobody')");
    const worker = Math.min(
      ...hostProcesses().flatMap(({ pid, status }) => (status.Name === "while-nobody" ? pid : [])),
    );
    // it dies when it is copied while idle
    await run(session, "import os\nx = 'lost'\nos.register_at_fork(before=lambda: os._exit(3))");
    expect(await eventually(() => !existsSync(`/proc/${worker}`))).toBe(true); // its supervisor has noticed
    await expect(session.checkpoint("late")).rejects.toMatchObject({
      code: "cell_lost",
      message: expect.stringMatching(/checkpoint late was not saved: .*variables are as they were after run 1/),
    });
    expect(session.checkpoints).toEqual([]);
    await session.checkpoint("late");
    expect(await value("x")).toBe("'before'");
  });

  test("are the state that a crash right after a rollback recovers", async () => {
    await open();
    await run(session, "x = 'at the checkpoint'");
    await session.checkpoint("here");
    await run(session, "x = 'later'");
    await session.rollback("here");
    expect(await run(session, crash)).toMatchObject({ status: "crashed", state: "recovered" });
    expect(await value("x")).toBe("'at the checkpoint'");
  });

  test("replace an older checkpoint with the same name", async () => {
    await open();
    await run(session, "x = 1");
    await session.checkpoint("one");
    await run(session, "x = 2");
    await session.checkpoint("one");
    await run(session, "x = 3");
    await session.rollback("one");
    expect(await value("x")).toBe("2");
    expect(session.checkpoints).toHaveLength(1);
  });

  test("whose copy dies are gone, and the caller is told", async () => {
    await open();
    await run(session, "x = 'older'");
    await session.checkpoint("taken");
    await run(session, "import os\nx = 'kept'\nos.register_at_fork(after_in_child=lambda: os._exit(1))");
    // If the copy dies after the reply, the next result says so.
    const refused = await session.checkpoint("taken").then(() => false, isLoss);
    const { status, notes } = await run(session, "x");
    expect(status).toBe("ok");
    expect(refused || notes.some((note) => note.startsWith("checkpoint taken is lost"))).toBe(true);
    await expect(session.rollback("taken")).rejects.toMatchObject({ code: "checkpoint_unknown" });
    expect(session.checkpoints).toEqual([]);
    expect(await value("x")).toBe("'kept'");
  });

  test("that are unknown, removed, badly named or too many are refused, and the state is kept", async () => {
    await open();
    await run(session, "x = 1");
    await expect(session.rollback("never")).rejects.toMatchObject({ code: "checkpoint_unknown", hint: "it has: none" });
    await expect(session.checkpoint("../x")).rejects.toMatchObject({ code: "usage" });
    for (const name of ["a", "b", "c"]) await session.checkpoint(name);
    await expect(session.checkpoint("d")).rejects.toMatchObject({ code: "too_large" });
    await session.forgetCheckpoint("b");
    await expect(session.rollback("b")).rejects.toMatchObject({ code: "checkpoint_unknown" });
    await session.checkpoint("d");
    const going = session.run("import time\ntime.sleep(0.2)");
    await expect(session.checkpoint("d")).rejects.toMatchObject({ code: "session_busy" });
    await expect(session.rollback("d")).rejects.toMatchObject({ code: "session_busy" });
    await going;
    expect(await value("x")).toBe("1");
  });

  test("do not change files", async () => {
    await open();
    await run(session, "open('note.txt', 'w').write('first')");
    await session.checkpoint("before");
    await run(session, "open('note.txt', 'w').write('second')");
    await session.rollback("before");
    expect(await value("open('note.txt').read()")).toBe("'second'");
  });
});

describe.skipIf(skipsProcess).each(bothLayouts)("the state after a crash in the $name", (layout) => {
  let codecell: LiveSessions;
  beforeAll(async () => {
    codecell = await openCells(layout, { proc: { timeout: "10s" } });
  });
  afterAll(() => codecell?.close());

  test("includes a variable that the host set after the last run", async () => {
    await using session = await codecell.openSession();
    await run(session, "x = 1");
    await idle();
    await session.set("given", "by the host");
    expect(await run(session, crash)).toMatchObject({ status: "crashed", state: "recovered", recoveredTo: 1 });
    expect(await run(session, "x, given")).toMatchObject({ value: "(1, 'by the host')" });
  });

  test("is not reported as fresh when the host had set variables before the first run", async () => {
    await using session = await codecell.openSession();
    await session.set("given", "by the host");
    const crashed = await run(session, crash);
    expect(crashed).toMatchObject({ status: "crashed", state: "recovered", recoveredTo: 0 });
    expect(crashed.notes).toContain("variables are as they were before the first run");
    expect(await run(session, "given")).toMatchObject({ value: "'by the host'" });
  });

  test("is reported although the host listed variables right after the run", async () => {
    await using session = await codecell.openSession();
    await run(session, "x = 1");
    await idle();
    await run(session, "x = 2");
    await session.variables();
    await copied();
    expect(await run(session, crash)).toMatchObject({ state: "recovered", recoveredTo: 2 });
    expect(await run(session, "x")).toMatchObject({ value: "2" });
  });
});

describe.skipIf(skipsProcess)("with recovery turned off", () => {
  test("variables that the host set are reported as lost after a crash", async () => {
    await using codecell = await openCells({ name: "", options: {} }, { session: { recovery: "off" } });
    await using session = await codecell.openSession();
    await session.set("given", 1);
    expect(await run(session, crash)).toMatchObject({ status: "crashed", state: "lost" });
  });
});

describe.skipIf(skipsProcess).each(bothLayouts)("a fork in the $name", (layout) => {
  let codecell: LiveSessions;
  beforeAll(async () => {
    codecell = await openCells(layout, { proc: { timeout: "10s" } });
  });
  afterAll(() => codecell?.close());

  const pair = async (code = "x = ['both']") => {
    const parent = await codecell.openSession();
    await run(parent, code);
    return { parent, fork: await parent.fork("the-fork") };
  };

  test("starts from its parent's variables and changes only its own", async () => {
    const { parent, fork } = await pair();
    await using _parent = parent;
    await using _fork = fork;
    expect(fork.id).toBe("the-fork");
    await run(fork, "x.append('fork'); y = 1");
    await run(parent, "x.append('parent')");
    expect(await run(fork, "x, y")).toMatchObject({ value: "(['both', 'fork'], 1)" });
    expect(await run(parent, "x, 'y' in globals()")).toMatchObject({ value: "(['both', 'parent'], False)" });
    expect(parent.sharers).toBe(2);
  });

  test("that crashes during its parent's run does not affect the parent, and vice versa", async () => {
    const { parent, fork } = await pair();
    await using _parent = parent;
    await using _fork = fork;
    await idle();
    for (const [one, other] of [
      [fork, parent],
      [parent, fork],
    ] as const) {
      const going = other.run("import time\nfor _ in range(30): time.sleep(0.01)\nx");
      await idle(30);
      expect(await run(one, crash)).toMatchObject({ status: "crashed", state: "recovered" });
      expect(await going).toMatchObject({ status: "ok", state: "kept", value: "['both']", notes: [] });
      expect(await run(one, "x")).toMatchObject({ value: "['both']" });
    }
  });

  test.each([
    [
      "each pid",
      "for pid in range(2, 400):\n    if pid != os.getpid():\n        for s in (2, 9): attempt(os.kill, pid, s)",
    ],
    ["every process at once", "attempt(os.kill, -1, 9)"],
    ["each group", "for pid in range(2, 400):\n    if pid != os.getpid(): attempt(os.killpg, pid, 9)"],
  ])("is not killed when the other one kills %s", async (_, kill) => {
    const { parent, fork } = await pair();
    await using _parent = parent;
    await using _fork = fork;
    await idle();
    const code = `import os\ndef attempt(call, *args):\n    try: call(*args)\n    except OSError: pass\n${kill}`;
    for (const [one, other] of [
      [fork, parent],
      [parent, fork],
    ] as const) {
      const going = other.run("import time\nfor _ in range(20): time.sleep(0.01)\nx");
      await idle(20);
      await within(10_000, run(one, code));
      expect(await going).toMatchObject({ status: "ok", state: "kept", value: "['both']", notes: [] });
    }
  });

  if (asksOnlyOnce(layout)) return;

  test("shares the workspace and the cell's limits", async () => {
    const { parent, fork } = await pair();
    await using _parent = parent;
    await using _fork = fork;
    await run(fork, "open('shared.txt', 'w').write('from the fork')");
    expect(await run(parent, "open('shared.txt').read()")).toMatchObject({ value: "'from the fork'" });
    expect(fork.receipt).toBe(parent.receipt);
  });

  test("of a fork stays open when its ancestors have closed", async () => {
    const { parent, fork } = await pair();
    await run(fork, "x.append('fork')");
    await using third = await fork.fork("third");
    await parent.close();
    expect(await run(third, "x")).toMatchObject({ value: "['both', 'fork']" });
    expect(await run(fork, "x")).toMatchObject({ value: "['both', 'fork']" });
    await fork.close();
    expect(await run(third, "x.append('third'); x")).toMatchObject({ value: "['both', 'fork', 'third']" });
    await copied();
    expect(await run(third, crash)).toMatchObject({ state: "recovered" });
    expect(await run(third, "x")).toMatchObject({ value: "['both', 'fork', 'third']" });
    expect(third.sharers).toBe(1);
    await expect(async () => parent.run("1")).rejects.toMatchObject({ code: "session_closed" });
  });

  test("runs at the same time as its parent, each with its own output and limits", async () => {
    const { parent, fork } = await pair("import os, time");
    await using _parent = parent;
    await using _fork = fork;
    // each waits in every round for the other: run one after the other, neither would end
    const code = (word: string, other: string) => `for n in range(5):
    open(f"${word}{n}", "w").close()
    while not os.path.exists(f"${other}{n}"): time.sleep(0.001)
    print("${word}")`;
    const [one, two] = await Promise.all([run(parent, code("parent", "fork")), run(fork, code("fork", "parent"))]);
    expect(one.stdout).toBe("parent\n".repeat(5));
    expect(two.stdout).toBe("fork\n".repeat(5));
    const [slow, quick] = await Promise.all([run(parent, "while True: pass", { timeoutMs: 300 }), run(fork, "1 + 1")]);
    expect(slow).toMatchObject({ status: "timeout", state: "kept" });
    expect(quick).toMatchObject({ status: "ok", value: "2" });
  });

  test("is copied correctly while runs of its parent end", async () => {
    const { parent, fork } = await pair();
    await using _parent = parent;
    await using _fork = fork;
    for (let round = 0; round < (isThorough ? 12 : 6); round++) {
      const busy = run(fork, "import os\nos.waitpid(os.spawnlp(os.P_NOWAIT, 'true', 'true'), 0)\nx");
      const copied = within(4_000, parent.checkpoint("again"));
      expect(await busy).toMatchObject({ status: "ok", notes: [] });
      await copied;
      const [one, two] = await within(4_000, Promise.all([run(parent, "x"), run(fork, "x")]));
      expect([one, two]).toMatchObject([
        { value: "['both']", notes: [] },
        { value: "['both']", notes: [] },
      ]);
    }
  });

  test("has checkpoints of its own", async () => {
    const { parent, fork } = await pair();
    await using _parent = parent;
    await using _fork = fork;
    await parent.checkpoint("mine");
    await expect(fork.rollback("mine")).rejects.toMatchObject({ code: "checkpoint_unknown" });
    await run(fork, "x = 'fork'");
    await fork.checkpoint("mine");
    await run(fork, "x = 'later'");
    await run(parent, "x = 'parent'");
    await fork.rollback("mine");
    await parent.rollback("mine");
    expect(await run(fork, "x")).toMatchObject({ value: "'fork'" });
    expect(await run(parent, "x")).toMatchObject({ value: "['both']" });
  });

  test("that is closed during a run ends at once, and the run says so", async () => {
    const { parent, fork } = await pair();
    await using _parent = parent;
    const going = fork.run("while True: pass");
    await idle(50);
    await within(8_000, fork.close());
    expect(await within(5_000, going)).toMatchObject({ status: "cancelled", state: "lost" });
    expect(await run(parent, "x")).toMatchObject({ value: "['both']" });
  });

  test("kills what its run left behind although its parent is still running", async () => {
    const { parent, fork } = await pair();
    await using _parent = parent;
    await using _fork = fork;
    const going = parent.run("import time\ntime.sleep(1)");
    await idle(30);
    const left = await run(fork, "import subprocess\nchild = subprocess.Popen(['sleep', '30'])");
    expect(left.notes.join()).toContain("left behind by the run");
    expect(await run(fork, "child.poll() is None")).toMatchObject({ value: "False" });
    expect(await going).toMatchObject({ status: "ok", notes: [] });
  });
});

describe.skipIf(skipsProcess)("a fork with proc.background", () => {
  test("that crashes or closes kills none of its parent's processes", async () => {
    const layout = { name: "", options: { layout: "template" } } as const;
    await using codecell = await openCells(layout, { proc: { timeout: "10s", background: true } });
    await using parent = await codecell.openSession();
    await run(parent, "import subprocess\nchild = subprocess.Popen(['sleep', '30'])");
    const fork = await parent.fork("fork");
    await run(fork, crash);
    expect(await run(parent, "child.poll()")).toMatchObject({ value: undefined });
    expect(await run(parent, "child.poll() is None")).toMatchObject({ value: "True" });
    await fork.close();
    await idle();
    expect(await run(parent, "child.poll() is None")).toMatchObject({ value: "True" });
  });
});

describe.skipIf(skipsProcess)("a fork over the process limit", () => {
  test("is refused, uses nothing, and leaves the session unchanged", async () => {
    const layout = { name: "", options: { layout: "template" } } as const;
    await using codecell = await openCells(layout, { proc: { timeout: "10s", pids: 12, background: true } });
    await using session = await codecell.openSession();
    await run(session, "x = 1\nopen('/proc/self/comm', 'w').write('no-room-here')");
    const supervisor = hostProcesses().find(({ status }) => status.Name === "no-room-here")?.status.PPid;
    await session.checkpoint("here");
    const fill = `import os, time
children = []
try:
    while True:
        pid = os.fork()
        if pid == 0: time.sleep(60); os._exit(0)
        children.append(pid)
except OSError: pass`;
    expect(await run(session, fill)).toMatchObject({ status: "ok" });
    const openFiles = () => readdirSync(`/proc/${supervisor}/fd`).length;
    const before = openFiles();
    for (let round = 0; round < 8; round++) {
      await expect(session.fork("none")).rejects.toMatchObject({ code: "too_large" });
    }
    await expect.poll(openFiles).toBeLessThanOrEqual(before);
    await expect(session.checkpoint("none")).rejects.toMatchObject({ code: "too_large" });
    expect(await run(session, "for pid in children: os.kill(pid, 9); os.waitpid(pid, 0)\nx")).toMatchObject({
      value: "1",
    });
    await using fork = await session.fork("now");
    expect(await run(fork, "x")).toMatchObject({ value: "1" });
  });
});
