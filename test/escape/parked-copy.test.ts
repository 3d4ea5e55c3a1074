import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { LiveSession } from "../../src/sessions/live-session.ts";
import type { LiveSessions } from "../../src/sessions/live-sessions.ts";
import {
  bothLayouts,
  describeAttacks,
  forging,
  idle,
  openCells,
  run,
  sharedKernelTiers,
  skipsProcess,
  within,
} from "../support/process-cells.ts";

const others = "[int(p) for p in os.listdir('/proc') if p.isdigit() and int(p) not in (1, os.getpid())]";

/** Attempts to kill the parked copy, which restores the state after a crash. */
const attacksOnCopy: readonly (readonly [string, string])[] = [
  ["kill by pid", "for p in others:\n    for sig in range(1, 65): attempt(os.kill, p, sig)"],
  ["kill for every process", "attempt(os.kill, -1, 9)"],
  ["kill for every group", "for p in others: attempt(os.killpg, p, 9)\nattempt(os.kill, 0, 0)"],
  ["pidfd_open", "for p in others: attempt(lambda: signal.pidfd_send_signal(os.pidfd_open(p), 9))"],
  [
    "a directory of /proc used as a pidfd",
    "for p in others: attempt(lambda: signal.pidfd_send_signal(os.open('/proc/%d' % p, os.O_RDONLY), 9))",
  ],
  [
    "thread signals and queued signals",
    "for p in others:\n    libc.syscall(200, p, 9); libc.syscall(234, p, p, 9); libc.syscall(129, p, 9, buffer); libc.syscall(297, p, p, 9, buffer)",
  ],
  [
    "a terminal with it as the foreground process",
    "import pty, fcntl, termios\nmaster, slave = pty.openpty()\nattempt(fcntl.ioctl, slave, termios.TIOCSCTTY, 0)\nfor p in others:\n    attempt(os.tcsetpgrp, slave, p); os.write(master, b'\\x03\\x1c')\nos.close(master); os.close(slave)",
  ],
  [
    "a descriptor that signals its owner",
    "import fcntl\nfor p in others:\n    r, w = os.pipe()\n    attempt(fcntl.fcntl, r, fcntl.F_SETOWN, p); attempt(fcntl.fcntl, r, 10, 9)\n    fcntl.fcntl(r, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK); os.write(w, b'x')",
  ],
  ["prlimit", "import resource\nfor p in others: attempt(resource.prlimit, p, resource.RLIMIT_CPU, (0, 0))"],
  [
    "writes to its memory",
    "for p in others: attempt(lambda: os.pwrite(os.open('/proc/%d/mem' % p, os.O_RDWR), b'x' * 4096, 4096))",
  ],
];

describeAttacks(
  bothLayouts,
  "the parked copy in the $name",
  (layout) => {
    let codecell: LiveSessions;
    let attacked: LiveSession;
    beforeAll(async () => {
      codecell = await openCells(layout, { proc: { timeout: "10s" } });
      attacked = await codecell.openSession();
    });
    afterAll(() => codecell?.close());

    test.each(attacksOnCopy)("survives an attack with %s", async (_, code) => {
      // a fresh interpreter and copy for each attack, in one cell as long as none of them ends it
      if (attacked.isAlive) await attacked.reset();
      else attacked = await codecell.openSession();
      const session = attacked;
      await run(session, "before = 'kept'");
      await idle();
      const attack = `import os, signal, ctypes
libc = ctypes.CDLL(None, use_errno=True)
buffer = ctypes.create_string_buffer(128)
def attempt(call, *args):
    try: call(*args)
    except OSError: pass
others = ${others}
assert others, "there is no copy to attack"
${code}
os._exit(7)`;
      expect(await within(15_000, run(session, attack))).toMatchObject({ status: "crashed", state: "recovered" });
      expect(await run(session, "before")).toMatchObject({ value: "'kept'" });
    });

    test("cannot be impersonated: a daemon that claims to be a parked copy is killed", async () => {
      await using session = await codecell.openSession();
      const claim = `${forging}
def claim():
    time.sleep(0.0005)  # now the run is over and the supervisor requests a copy
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.setsid()
            end, n = time.monotonic() + 60, 0
            while time.monotonic() < end:
                n += 1
                open("/workspace/alive", "w").write(str(n))
                for pid in (os.getpid(), 0, 1, -1, 2 ** 31, 10 ** 30, True, "2", None):
                    if n < 400: forge({"t": "parked", "pid": pid, "run": "x"})
                time.sleep(0.0005)
        os._exit(0)
threading.Thread(target=claim).start()`;
      await within(10_000, run(session, claim));
      await idle(200);
      expect(await within(10_000, run(session, "40 + 2"))).toMatchObject({ status: "ok", value: "42" });
      const count = "open('/workspace/alive').read()";
      const first = await within(10_000, run(session, count));
      await idle(200);
      expect((await within(10_000, run(session, count))).value).toBe(first.value);
      expect(await within(15_000, run(session, "import os\nos._exit(1)"))).toMatchObject({ status: "crashed" });
      expect(await within(10_000, run(session, "40 + 2"))).toMatchObject({ status: "ok", value: "42" });
    });

    test("runs no user code while it waits", async () => {
      await using session = await codecell.openSession();
      // replaces the function in which the copy sleeps with a counter
      const awake = `import _signal, time
def count(*_):
    n = 0
    while True:
        n += 1
        open('/workspace/awake', 'w').write(str(n))
        time.sleep(0.001)
_signal.sigwaitinfo = count`;
      await run(session, awake);
      const watch = `
import os
def read(): return open("/workspace/awake").read() if os.path.exists("/workspace/awake") else ""
first = read()
time.sleep(0.3)
read() == first`;
      // a few rounds until it is stopped, otherwise one in each millisecond
      const isStill = async () => {
        await idle(200);
        return (await run(session, watch)).value;
      };
      await expect.poll(isStill).toBe("True");
    });
  },
  sharedKernelTiers,
);

describe.skipIf(skipsProcess)("parking a copy", () => {
  let codecell: LiveSessions;
  beforeAll(async () => {
    codecell = await openCells({ name: "", options: { layout: "template" } }, { proc: { timeout: "10s" } });
  });
  afterAll(() => codecell?.close());

  test("does not block callers when user code blocks every fork, and the next result reports the failure", async () => {
    await using session = await codecell.openSession();
    await run(session, "import os, time\nos.register_at_fork(before=lambda: time.sleep(10 ** 6))");
    await idle(20);
    expect(await within(15_000, session.get("1"))).toBe(1);
    const { notes } = await run(session, "1");
    expect(notes.join(" ")).toContain("a copy of its state could not be made");
  });

  test("does not retry in a loop when user code exits at every fork", async () => {
    await using session = await codecell.openSession();
    await run(session, "import os\nos.register_at_fork(after_in_parent=lambda: os._exit(1))");
    await idle(500);
    const before = await session.usage();
    await idle(500);
    const after = await session.usage();
    expect((after.cpuMs ?? 0) - (before.cpuMs ?? 0)).toBeLessThan(100);
    const next = await within(10_000, run(session, "40 + 2"));
    expect(next).toMatchObject({ status: "ok", value: "42" });
    expect(next.notes.length).toBeLessThan(8);
  });

  /** The first copy exits after `seconds`, before it is protected. The worker returns from the fork after `workerSeconds`. */
  const shortLived = (seconds: number, workerSeconds = 0) => `import os, time
x = 'kept'
os.register_at_fork(before=lambda: globals().__setitem__('forks', globals().get('forks', 0) + 1))
os.register_at_fork(after_in_child=lambda: forks == 1 and (time.sleep(${seconds}), os._exit(1)))
os.register_at_fork(after_in_parent=lambda: forks == 1 and time.sleep(${workerSeconds}))`;

  test("does not end the cell when the copy exits while a fork waits for it", async () => {
    await using cells = await openCells(
      { name: "", options: { layout: "template" } },
      { session: { recovery: "off" } },
    );
    await using session = await cells.openSession();
    await run(session, shortLived(0.2));
    await session.checkpoint("gone");
    await using fork = await session.fork("fork");
    expect((await run(fork, "x")).value).toBe("'kept'");
    expect((await run(session, "x")).value).toBe("'kept'");
    expect(session.checkpoints).toEqual([]);
  });

  test("fails at once when the copy exits before the worker reports it", async () => {
    await using cells = await openCells(
      { name: "", options: { layout: "template" } },
      { session: { recovery: "off" } },
    );
    await using session = await cells.openSession();
    await run(session, shortLived(0, 0.2));
    // less than the five seconds after which the supervisor gives up a copy
    await within(
      4_500,
      session.checkpoint("gone").catch(() => {}),
    );
    expect(await within(4_500, run(session, "x"))).toMatchObject({ status: "ok", value: "'kept'" });
    expect(session.checkpoints).toEqual([]);
  });
});
