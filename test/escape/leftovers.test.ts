import { afterAll, beforeAll, expect, test } from "vitest";
import type { LiveSession } from "../../src/sessions/live-session.ts";
import type { LiveSessions } from "../../src/sessions/live-sessions.ts";
import {
  describeAttacks,
  eventually,
  idle,
  marked,
  openCells,
  run,
  withAndWithoutGroups,
  within,
} from "../support/process-cells.ts";

/** Ways to outlive the run. Each calls `stay()`, which execs a program whose command line contains the mark. */
const ways: readonly (readonly [string, string])[] = [
  ["a plain child", "if os.fork() == 0: stay()"],
  [
    "a daemon with two forks and two sessions",
    "if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        os.setsid(); stay()\n    os._exit(0)",
  ],
  [
    "a child that ignores every signal",
    "if os.fork() == 0:\n    for s in set(range(1, 65)) - {9, 19, 32, 33}: signal.signal(s, signal.SIG_IGN)\n    stay()",
  ],
  [
    "a stopped child",
    "pid = os.fork()\nif pid == 0: stay()\nwhile not os.readlink('/proc/%d/exe' % pid).endswith('sh') and time.sleep(0.01) is None: break\nos.kill(pid, signal.SIGSTOP)",
  ],
  ["a child that holds the output open", "if os.fork() == 0:\n    os.dup2(1, 100); stay()"],
  [
    "a grandchild whose parent has exited",
    "if os.fork() == 0:\n    if os.fork() == 0: stay()\n    os._exit(0)\nos.wait()",
  ],
  ["many children", "for _ in range(20):\n    if os.fork() == 0: stay()"],
  [
    "a child in its own process group with another name",
    "if os.fork() == 0:\n    os.setpgid(0, 0); open('/proc/self/comm', 'w').write('parked'); stay()",
  ],
];

function staying(mark: string, way: string): string {
  return `import os, signal, time
def stay(): os.execv("/bin/sh", ["sh", "-c", "trap '' TERM INT HUP; while :; do sleep 5; done; : ${mark}"])
${way}
time.sleep(0.05)`;
}

describeAttacks(withAndWithoutGroups, "a process that outlives its run in the $name", (layout) => {
  let codecell: LiveSessions;
  let lasting: LiveSessions;
  let session: LiveSession;
  let count = 0;
  const newMark = () => `leftover-${process.pid}-${Math.random().toString(36).slice(2)}-${++count}`;
  beforeAll(async () => {
    codecell = await openCells(layout, { proc: { timeout: "10s", memory: "512MiB" } });
    lasting = await openCells(layout, { proc: { timeout: "10s", background: true } });
    session = await codecell.openSession();
  });
  afterAll(async () => {
    await codecell?.close();
    await lasting?.close();
  });

  test.each(ways)("as %s is killed at the end of the run, and the result says so", async (_, way) => {
    const mark = newMark();
    const result = await within(15_000, run(session, staying(mark, way)));
    expect(result.status).toBe("ok");
    expect(result.notes.join()).toMatch(/left behind by the run/);
    expect(marked(mark)).toEqual([]);
  });

  test.each(ways)("as %s is killed after a timeout", async (_, way) => {
    const mark = newMark();
    const code = `${staying(mark, way)}\ntime.sleep(60)`;
    expect(await within(15_000, run(session, code, { timeoutMs: 400 }))).toMatchObject({ status: "timeout" });
    expect(await eventually(() => marked(mark).length === 0)).toBe(true);
  });

  test("is killed together with a killed interpreter", async () => {
    const mark = newMark();
    const code = staying(mark, "for _ in range(5):\n    if os.fork() == 0: stay()");
    expect(await within(15_000, run(session, `${code}\nos._exit(3)`))).toMatchObject({ status: "crashed" });
    expect(await eventually(() => marked(mark).length === 0)).toBe(true);
  });

  test("because it started between the end of a run and the copy of its state is killed at the next end", async () => {
    const mark = newMark();
    const late = `${staying(mark, "pass")}
import threading
def trickle():
    for _ in range(30):
        if os.fork() == 0: os.setsid(); stay()
        time.sleep(0.0003)
trickler = threading.Thread(target=trickle)
trickler.start()`;
    await within(15_000, run(session, late));
    await idle(150);
    await within(15_000, run(session, "1"));
    // on a busy machine it may still be forking
    await within(15_000, run(session, "trickler.join()"));
    await within(15_000, run(session, "2"));
    expect(await eventually(() => marked(mark).length === 0)).toBe(true);
  });

  test("because a thread never stops forking does not block the session", async () => {
    await using other = await codecell.openSession();
    const code = `import os, threading, time
def fork_for_ever():
    while True:
        try:
            if os.fork() == 0: time.sleep(60); os._exit(0)
        except OSError: time.sleep(0.001)
threading.Thread(target=fork_for_ever, daemon=True).start()
time.sleep(0.05)`;
    await within(15_000, run(other, code));
    expect((await within(10_000, run(other, "40 + 2"))).status).not.toBe("timeout");
  });

  test("cannot start from atexit handlers and finalizers after the session", async () => {
    const mark = newMark();
    const other = await codecell.openSession();
    await run(other, `import atexit, os, weakref\n@atexit.register\ndef last(): os.system("sleep 60; : ${mark}")`);
    await within(10_000, other.close());
    await idle(100);
    expect(marked(mark)).toEqual([]);
  });

  // the host does not see processes of another Linux kernel
  test.skipIf(layout.hasOwnKernel)(
    "with proc.background survives between runs, and is killed when the session closes",
    async () => {
      const mark = newMark();
      const other = await lasting.openSession();
      for (const [, way] of ways.slice(0, 4)) await within(15_000, run(other, staying(mark, way)));
      await run(other, "1");
      expect(marked(mark).length).toBeGreaterThan(0);
      await within(10_000, other.close());
      expect(marked(mark)).toEqual([]);
    },
  );
});
