import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CodecellError } from "../../src/lib/errors.ts";
import type { LiveSession } from "../../src/sessions/live-session.ts";
import type { LiveSessions } from "../../src/sessions/live-sessions.ts";
import type { RunResult } from "../../src/sessions/runs/run.ts";
import {
  bothLayouts,
  describeAttacks,
  hasMemoryGroup,
  hostProcesses,
  idle,
  type Layout,
  oneTierPerKernel,
  openCells,
  run,
  skipsProcess,
  withAndWithoutGroups,
  within,
  withoutGroups,
} from "../support/process-cells.ts";
import { isThorough } from "../support/thorough.ts";

const policy = { proc: { timeout: "4s", memory: "128MiB", disk: "32MiB", pids: 48, output: "64KiB" } } as const;

/** Whatever happens to the program, the next run must work. */
const bombs: readonly (readonly [string, string])[] = [
  ["a fork bomb", "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass"],
  [
    "a fork bomb that ignores signals",
    "import os, signal\nfor s in set(range(1, 32)) - {9, 19}:\n    try: signal.signal(s, signal.SIG_IGN)\n    except OSError: pass\nwhile True:\n    try: os.fork()\n    except OSError: pass",
  ],
  [
    "a thread bomb",
    "import threading, time\nwhile True:\n    try: threading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n    except RuntimeError: break",
  ],
  ["a growing heap", "hog = []\nwhile True: hog.append(bytearray(8 << 20))"],
  ["one allocation of 100 GB", "hog = bytearray(100 << 30)"],
  [
    "six children of 60 MB",
    "import os, time\nfor _ in range(6):\n    if os.fork() == 0:\n        hog = bytearray(60 << 20); time.sleep(0.5); os._exit(0)\ntime.sleep(0.7)",
  ],
  [
    "shared anonymous memory in many children",
    "import mmap, os, time\nfor _ in range(8):\n    if os.fork() == 0:\n        hog = mmap.mmap(-1, 60 << 20); hog.write(bytes(60 << 20)); time.sleep(0.5); os._exit(0)\ntime.sleep(0.7)",
  ],
  ["a memfd", "import os\nfd = os.memfd_create('hog')\nwhile True: os.write(fd, bytes(1 << 20))"],
  [
    "a full /tmp, /dev/shm and workspace",
    "import os\nfor path in ('/tmp/hog', '/dev/shm/hog', '/workspace/hog'):\n    with open(path, 'wb') as f:\n        try:\n            while True: f.write(bytes(1 << 20)); f.flush()\n        except OSError: pass\nfor path in ('/tmp/hog', '/dev/shm/hog', '/workspace/hog'): os.remove(path)",
  ],
  [
    "a sparse file of 100 TB",
    "import os\nfd = os.open('/workspace/hole', os.O_CREAT | os.O_WRONLY)\nos.ftruncate(fd, 100 << 40)",
  ],
  [
    "ten thousand descriptors",
    "import os\nfds = []\ntry:\n    while True: fds.append(os.open('/dev/null', os.O_RDONLY))\nexcept OSError: print(len(fds))",
  ],
  [
    "full pipes and sockets",
    "import os, socket\nheld = []\ntry:\n    while True:\n        pair = socket.socketpair(); held.append(pair)\n        for one in pair:\n            one.setblocking(False)\n            try:\n                while True: one.send(bytes(65536))\n            except BlockingIOError: pass\nexcept OSError: pass\nheld = None",
  ],
  ["a gigabyte of output", "import os\nfor _ in range(16384): os.write(1, b'x' * 65536)"],
  ["output of single bytes", "import os\nfor _ in range(100000): os.write(1, b'x')"],
  ["an argument list of megabytes", "import subprocess\nsubprocess.run(['true', 'x' * 3_000_000])"],
  ["endless recursion", "import sys, threading\nsys.setrecursionlimit(10 ** 9)\ndef f(n): return f(n + 1) + 1\nf(0)"],
  ["an endless calculation", "9 ** 9 ** 9"],
  [
    "a sleep that ignores the interrupt",
    "import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\ntime.sleep(100)",
  ],
  [
    "a directory tree without a bottom",
    "import os\ntry:\n    while True: os.mkdir('d'); os.chdir('d')\nexcept OSError: pass\nos.chdir('/workspace')\nimport shutil\ntry: shutil.rmtree('d', ignore_errors=True)\nexcept RecursionError: pass",
  ],
  [
    "endless file creation and renaming by many processes",
    "import os\nfor _ in range(12): os.fork()  if _ < 4 else None\nn = 0\nwhile True:\n    n += 1\n    path = '/workspace/f%d-%d' % (os.getpid(), n % 50)\n    os.close(os.open(path, os.O_CREAT | os.O_WRONLY))\n    os.rename(path, path + 'x')",
  ],
  [
    "pending signals and timers",
    "import ctypes, os, signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, range(34, 64))\nlibc = ctypes.CDLL(None)\nfor _ in range(5000): libc.sigqueue(os.getpid(), 40, None)",
  ],
];

/** Bombs that end only with the run. They do their worst within milliseconds. */
const endless: readonly string[] = [
  ...["a fork bomb", "a fork bomb that ignores signals", "an endless calculation"],
  ...["a sleep that ignores the interrupt", "endless file creation and renaming by many processes"],
];

/** Bombs against time, output, files or descriptors, which no control group limits. They are thrown where there are such groups. */
const besideGroups: readonly string[] = [
  ...["a sparse file of 100 TB", "ten thousand descriptors", "a gigabyte of output", "output of single bytes"],
  ...["an argument list of megabytes", "an endless calculation", "a sleep that ignores the interrupt"],
  "a directory tree without a bottom",
];

/** Bombs against what the Linux kernel of the cell counts itself: processes, memory, files in memory and buffers. */
const ofLinuxKernel: readonly string[] = [
  ...["a fork bomb that ignores signals", "a growing heap", "shared anonymous memory in many children", "a memfd"],
  "full pipes and sockets",
];

describeAttacks(withAndWithoutGroups, "a resource bomb in the $name", throwBombs, oneTierPerKernel);

function throwBombs(layout: Layout): void {
  let codecell: LiveSessions;
  let session: LiveSession;
  beforeAll(async () => {
    codecell = await openCells(layout, policy);
    session = await codecell.openSession();
  });
  afterAll(() => codecell?.close());

  // the tmpfs of bubblewrap and Podman has no inode limit: its memory stays in use until the files are removed
  const countsFiles = layout.options.layout !== "direct" && layout.name !== "podman";
  const isAsked = (name: string) =>
    isThorough ||
    ((layout !== withoutGroups || !besideGroups.includes(name)) &&
      (!layout.hasOwnKernel || ofLinuxKernel.includes(name)));
  const fitting = bombs.filter(([name]) => isAsked(name) && (countsFiles || !name.startsWith("a directory tree")));

  test.each(fitting)("(%s) ends in time, and the next run works", async (name, code) => {
    // a Linux kernel of its own is slower at starting processes
    const timeoutMs = endless.includes(name) && !layout.hasOwnKernel ? 500 : 1_500;
    const result = await within(20_000, run(session, code, { timeoutMs }));
    // A kernel of its own may starve the supervisor as well. After 8 s without an answer the host ends the cell, by design.
    expect(result.durationMs).toBeLessThan(layout.hasOwnKernel ? 13_000 : 10_000);
    if (layout.hasOwnKernel && result.notes.includes("the session ended")) session = await codecell.openSession();
    const next = await answerOf("print('fine')\n40 + 2");
    expect(next).toMatchObject({ status: "ok", value: "42", stdout: "fine\n" });
    // variables may still hold threads and descriptors; a reset frees them
    await within(15_000, session.reset());
    const child = await answerOf(
      "import subprocess\nsubprocess.run(['echo', 'child'], capture_output=True, text=True).stdout",
    );
    expect(child).toMatchObject({ status: "ok", value: "'child\\n'" });
  });

  /**
   * A tier with its own Linux kernel may crash as a whole, also a moment after the run. The host then sees a closed session
   * and opens another.
   */
  async function answerOf(code: string): Promise<RunResult> {
    const answer = await within(15_000, run(session, code)).catch((error: unknown) => {
      if (!layout.hasOwnKernel || !(error instanceof CodecellError) || error.code !== "session_closed") throw error;
    });
    const isEnded = answer === undefined || answer.notes.includes("the session ended");
    // gVisor counts the memory of what the bomb started until it is gone, also against the next run, and kills its interpreter
    const isLate = answer?.status === "out_of_memory" || answer?.status === "crashed";
    if (answer && !(layout.hasOwnKernel && (isEnded || isLate))) return answer;
    if (isEnded) session = await codecell.openSession();
    return within(15_000, run(session, code));
  }

  test.runIf(layout.hasOwnKernel)("(many memfds) ends as out_of_memory, and the session keeps its state", async () => {
    await using other = await codecell.openSession();
    await within(15_000, run(other, "kept = 42"));
    const code =
      "import os\nfds = []\nwhile True:\n    fds.append(os.memfd_create('hog'))\n    for _ in range(31): os.write(fds[-1], bytes(1 << 20))";
    expect(await within(20_000, run(other, code))).toMatchObject({ status: "out_of_memory", state: "recovered" });
    expect(await within(15_000, run(other, "kept"))).toMatchObject({ status: "ok", value: "42" });
  });

  if (layout.hasOwnKernel && !isThorough) return;
  test("of children left behind by many runs does not use up the process limit", async () => {
    await within(15_000, session.reset());
    for (let round = 0; round < 4; round++) {
      const code = "import subprocess\nlen([subprocess.Popen(['sleep', '60']) for _ in range(30)])";
      expect(await within(15_000, run(session, code))).toMatchObject({ status: "ok", value: "30" });
    }
  });

  test("of a value far over the memory limit is refused or loses the state, but not the session", async () => {
    await using other = await codecell.openSession();
    await within(30_000, other.set("hog", Buffer.alloc(200 << 20))).catch((error: unknown) => {
      expect(error).toMatchObject({ name: "CodecellError" });
    });
    expect(await within(15_000, run(other, "40 + 2"))).toMatchObject({ status: "ok", value: "42" });
  });

  test("leaves nothing on the host when the session closes during the run", async () => {
    const other = await codecell.openSession();
    const mark = `bomb-${Math.random().toString(36).slice(2)}`;
    const going = other.run(
      `import os, subprocess\nprint('on', flush=True)\nwhile True:\n    try: subprocess.Popen(['sh', '-c', 'while :; do :; done; : ${mark}'])\n    except OSError: pass`,
    );
    for await (const _ of going) break;
    await within(15_000, other.close());
    expect(await within(5_000, going)).toMatchObject({ status: "cancelled", state: "lost" });
    expect(hostProcesses().filter(({ command }) => command.startsWith("sh -c") && command.includes(mark))).toEqual([]);
  });
}

describe.skipIf(skipsProcess || !hasMemoryGroup).each(bothLayouts)("a cgroup limit in the $name", (layout) => {
  test("caps the CPU time at the policy's share", async () => {
    await using codecell = await openCells(layout, { proc: { cpus: 0.5, timeout: "10s" } });
    await using session = await codecell.openSession();
    const spin =
      "import os, time\nfor _ in range(3): os.fork()\nend = time.monotonic() + 1\nwhile time.monotonic() < end: pass";
    const before = (await session.usage()).cpuMs ?? 0;
    const started = performance.now();
    await run(session, spin);
    const elapsed = performance.now() - started;
    expect((await session.usage()).cpuMs).toBeDefined();
    expect(((await session.usage()).cpuMs ?? 0) - before).toBeLessThan(elapsed * 0.5 + 200);
  });

  test("of memory still allows runs after a run filled System V IPC objects", async () => {
    await using codecell = await openCells(layout, policy);
    await using session = await codecell.openSession();
    const semaphores =
      "import ctypes\nlibc = ctypes.CDLL(None)\nn = 0\nwhile n < 400 and libc.semget(0, 32000, 0o600) >= 0: n += 1";
    const queues =
      "import ctypes\nlibc = ctypes.CDLL(None)\nm = ctypes.create_string_buffer(8192); m[0] = b'x'\nfor _ in range(8000):\n    q = libc.msgget(0, 0o600)\n    if q < 0: break\n    while libc.msgsnd(q, m, 8000, 0o4000) == 0: pass";
    for (const code of [semaphores, queues]) {
      await within(20_000, run(session, code));
      await idle();
      expect(await within(15_000, run(session, "hog = bytearray(32 << 20)\nlen(hog)"))).toMatchObject({ status: "ok" });
    }
  });
});
