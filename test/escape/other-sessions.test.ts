import { afterAll, beforeAll, expect, test } from "vitest";
import type { LiveSession } from "../../src/sessions/live-session.ts";
import type { LiveSessions } from "../../src/sessions/live-sessions.ts";
import { descendantsOf } from "../e2e/process-tree.ts";
import { bothLayouts, describeAttacks, everyLayout, look, openCells, run } from "../support/process-cells.ts";
import { isThorough } from "../support/thorough.ts";

/** Leaves something in every place that namespaces must separate. */
const leave = `
import ctypes, os, socket, subprocess, json, mmap, pty
libc = ctypes.CDLL(None, use_errno=True)
open("/workspace/left.txt", "w").write("left"); open("/tmp/left.txt", "w").write("left"); open("/dev/shm/left", "w").write("left")
abstract = socket.socket(socket.AF_UNIX); abstract.bind("\\0left-abstract"); abstract.listen()
named = socket.socket(socket.AF_UNIX); named.bind("/tmp/left.sock"); named.listen()
port = socket.socket(); port.bind(("127.0.0.1", 4711)); port.listen()
datagram = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); datagram.bind(("0.0.0.0", 4712))
os.mkfifo("/tmp/left.fifo")
queue = libc.msgget(0x1eaf, 0o1666); semaphores = libc.semget(0x1eaf, 1, 0o1666); memory = libc.shmget(0x1eaf, 4096, 0o1666)
posix_queue = ctypes.CDLL("librt.so.1").mq_open(b"/left", 0o102, 0o666, None) if os.path.exists("/lib/x86_64-linux-gnu/librt.so.1") else -1
master, slave = pty.openpty()
child = subprocess.Popen(["sh", "-c", "exec -a left-process sleep 60"], executable="/bin/bash")
variable_left = "left"
print(json.dumps([os.getpid(), child.pid, os.ttyname(slave)]))`;

/** Searches for it from another session. */
const find = `
import ctypes, glob, os, socket, json
libc = ctypes.CDLL(None, use_errno=True)
found = []
def attempt(name, action):
    try:
        if action() is not False: found.append(name)
    except (OSError, ValueError, NameError): pass
def connect(family, address):
    with socket.socket(family) as s:
        s.settimeout(1); s.connect(address)
attempt("workspace", lambda: open("/workspace/left.txt")); attempt("tmp", lambda: open("/tmp/left.txt"))
attempt("shm", lambda: open("/dev/shm/left")); attempt("fifo", lambda: os.stat("/tmp/left.fifo"))
attempt("abstract socket", lambda: connect(socket.AF_UNIX, "\\0left-abstract"))
attempt("named socket", lambda: connect(socket.AF_UNIX, "/tmp/left.sock"))
attempt("loopback", lambda: connect(socket.AF_INET, ("127.0.0.1", 4711)))
attempt("loopback v6", lambda: connect(socket.AF_INET6, ("::1", 4711)))
attempt("SysV queue", lambda: libc.msgget(0x1eaf, 0) >= 0); attempt("SysV semaphore", lambda: libc.semget(0x1eaf, 0, 0) >= 0)
attempt("SysV memory", lambda: libc.shmget(0x1eaf, 0, 0) >= 0)
attempt("SysV table", lambda: any(len(open("/proc/sysvipc/" + n).readlines()) > 1 for n in ("msg", "sem", "shm")))
attempt("posix queue", lambda: libc.syscall(240, b"left", 0, 0, None) >= 0)
attempt("processes", lambda: any(b"left-process" in open("/proc/%s/cmdline" % p, "rb").read() for p in os.listdir("/proc") if p.isdigit()))
attempt("terminals", lambda: bool(glob.glob("/dev/pts/[0-9]*")))
attempt("network table", lambda: any(":1267" in open("/proc/net/" + n).read() for n in ("tcp", "udp", "tcp6")))
attempt("unix table", lambda: "left-abstract" in open("/proc/net/unix").read())
attempt("variables", lambda: variable_left)
attempt("keyring", lambda: libc.syscall(248, b"user", b"left", b"x", 1, -4) >= 0)
attempt("template socket", lambda: os.listdir("/run/s")); attempt("template cgroups", lambda: os.listdir("/run/cg"))
attempt("any of /run", lambda: bool(os.listdir("/run")))
attempt("cgroup path", lambda: any(line.strip().split(":")[2] != "/" for line in open("/proc/self/cgroup")))
print(json.dumps(found))`;

// namespaces keep sessions apart, with or without control groups
describeAttacks(isThorough ? everyLayout : bothLayouts, "another session in the $name", (layout) => {
  let codecell: LiveSessions;
  let other: LiveSessions;
  let victim: LiveSession;
  let spy: LiveSession;
  beforeAll(async () => {
    codecell = await openCells(layout, { proc: { background: true } });
    other = await openCells(layout, { proc: { timeout: "20s" } });
    victim = await codecell.openSession();
    await look(victim, leave);
    spy = await codecell.openSession();
  });
  afterAll(async () => {
    await codecell?.close();
    await other?.close();
  });

  /** An image may have a /run. With cgroups v1, Podman shows the container's own id. */
  const foundBy = async (spy: LiveSession) =>
    ((await look(spy, find)) as string[]).filter(
      (name) => !layout.make || !["any of /run", "cgroup path"].includes(name),
    );

  test("with the same policy finds nothing that this one left", async () => {
    expect(await foundBy(spy)).toEqual([]);
  });

  test("with another policy finds nothing that this one left", async () => {
    await using spy = await other.openSession();
    expect(await foundBy(spy)).toEqual([]);
  });

  test("opened after this one closed finds nothing that it left", async () => {
    const first = await codecell.openSession();
    await look(first, leave);
    await first.close();
    await using spy = await codecell.openSession();
    expect(await foundBy(spy)).toEqual([]);
  });

  test("cannot signal this one, because its pids are unknown", async () => {
    // what a cell may guess, and what the host calls the processes of this test
    const onHost = descendantsOf(process.pid).map((process) => Number.parseInt(process, 10));
    const code = `
import os
hit = []
for pid in [*range(2, 4000), *${JSON.stringify(onHost)}]:
    try:
        os.kill(pid, 0)
        if not os.path.exists("/proc/%d" % pid): os.kill(pid, 9); hit.append(pid)
    except OSError: pass
print(json.dumps(hit))`;
    expect(await look(spy, code)).toEqual([]);
    expect(await run(victim, "variable_left")).toMatchObject({ status: "ok", value: "'left'" });
  });

  test("has other random numbers", async () => {
    const draw = `
import random, os, uuid, secrets, tempfile
print(json.dumps([random.random(), random.getrandbits(64), os.urandom(8).hex(), str(uuid.uuid4()), secrets.token_hex(8), next(tempfile._get_candidate_names())]))`;
    const drawn = [...((await look(victim, draw)) as unknown[]), ...((await look(spy, draw)) as unknown[])];
    expect(new Set(drawn).size).toBe(drawn.length);
  });

  test("cannot exhaust limits that the Linux kernel counts per user", async () => {
    await using greedy = await codecell.openSession();
    await run(
      greedy,
      `import os, fcntl
held = []
try:
    while True: r, w = os.pipe(); held += [r, w]; fcntl.fcntl(w, 1031, 1 << 20)
except OSError: pass`,
    );
    const code =
      "import os, subprocess\nsubprocess.run(['sh', '-c', 'seq 1 100000'], capture_output=True).stdout.count(b'\\n')";
    expect(await run(spy, code)).toMatchObject({ status: "ok", value: "100000" });
  });
});
