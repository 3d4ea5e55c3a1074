import type { Attack } from "../attack.ts";
import { does } from "./make-attack.ts";
import { byFilter, noProc, noProcesses, noSockets, noSystemCalls } from "./shared-facts.ts";

const apart = {
  kind: "cross-session",
  scenario: "neighbour",
  containedBy: {
    default: "each session has namespaces of its own",
    gvisor: "each session has a gVisor kernel of its own",
    wasm: "each session has an interpreter of its own, in a process of its own",
  },
  weakness: "shared-cell",
} as const;

/** Numbers that both sessions can compute and nobody else uses. */
const key = `
import ctypes, zlib
libc = ctypes.CDLL(None, use_errno=True)
key = zlib.crc32(host["mine"].encode()) & 0x7fffffff
`;

/** Another session of the same policy holds the secret: in a variable, in files, and in what each attack names. */
export const neighbourSecrets: readonly Attack[] = [
  does(
    "sessions/files",
    "reads the files of another session",
    `verdict = reads("/workspace/treasure.txt", "/tmp/treasure.txt", "/dev/shm/treasure.txt")`,
    apart,
  ),
  does(
    "sessions/search",
    "searches every file it can read for the secret of another session",
    `
needle, found, seen = "".join(host["needle"]).encode(), [], 0
for top in ("/workspace", "/tmp", "/dev", "/run", "/var", "/home", "/root", "/mnt", "/opt", "/srv"):
    for base, _, names in os.walk(top):
        for name in names:
            path = base + "/" + name
            seen += 1
            if seen > 20_000 or not os.path.isfile(path): continue
            try: content = read(path, 1 << 16)
            except OSError: continue
            if needle in content: found.append(path)
verdict = nothing(found, "read")`,
    apart,
  ),
  does(
    "sessions/memory",
    "reads the memory of another session's interpreter",
    `
needle, found = "".join(host["needle"]).encode(), []
me = os.getpid()
for pid in pids():
    if pid == me: continue
    try:
        with open("/proc/%d/maps" % pid) as maps, open("/proc/%d/mem" % pid, "rb", 0) as memory:
            for line in maps:
                bounds, rights = line.split()[:2]
                first, last = (int(one, 16) for one in bounds.split("-"))
                if "rw" not in rights or last - first > 64 << 20 or "[v" in line: continue
                try: memory.seek(first); content = memory.read(last - first)
                except (OSError, ValueError, OverflowError): continue
                at = content.find(needle)
                if at >= 0: found.append(content[at:at + 44].decode(errors="replace"))
    except OSError: continue
verdict = nothing(found, "read memory")`,
    { ...apart, notTried: noProc },
  ),
  {
    ...does(
      "sessions/processes",
      "sees the processes of another session",
      `verdict = nothing([pid for pid in pids() if host["mine"] in text_of("/proc/%d/cmdline" % pid) and pid != os.getpid()])`,
      { ...apart, notTried: noProc },
    ),
    victim: {
      before: `
import subprocess
child = subprocess.Popen(["/bin/sh", "-c", "read line; : " + host["mine"]], stdin=subprocess.PIPE)`,
    },
  },
  does(
    "sessions/signals",
    "kills every process that it can reach by number",
    `
mine = {1, os.getpid(), os.getppid()}
for pid in list(mine): # the number of a thread reaches its whole process
    try: mine |= {int(one) for one in os.listdir("/proc/%d/task" % pid)}
    except OSError: pass
for pid in range(2, 40_000):
    if pid in mine: continue
    try: os.kill(pid, 9)
    except OSError: pass
verdict = "contained" # the other session tells whether it lives`,
    { ...apart, notTried: noProcesses },
  ),
  {
    ...does(
      "sessions/sockets",
      "connects to servers of another session, by port, path and abstract name",
      `
verdict = first_of(
    lambda: connects(socket.AF_UNIX, "\\0" + host["mine"]),
    lambda: connects(socket.AF_UNIX, "/tmp/" + host["mine"]),
    lambda: connects(socket.AF_INET, ("127.0.0.1", 47821)))`,
      { ...apart, notTried: noSockets },
    ),
    victim: {
      before: `
servers = []
for family, address in ((socket.AF_UNIX, "\\0" + host["mine"]), (socket.AF_UNIX, "/tmp/" + host["mine"]), (socket.AF_INET, ("127.0.0.1", 47821))):
    try: one = socket.socket(family)
    except PermissionError: continue # sandbox-runtime refuses this family
    one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); one.bind(address); one.listen(); servers.append(one)`,
    },
  },
  {
    ...does(
      "sessions/network-tables",
      "reads which servers and connections another session has",
      `
text = text_of(*["/proc/net/" + name for name in ("tcp", "tcp6", "udp", "unix")])
verdict = unless(host["mine"] in text or ":%04X" % 47822 in text, "saw it")`,
      { ...apart, notTried: noSockets },
    ),
    victim: {
      before: `
try: abstract = socket.socket(socket.AF_UNIX); abstract.bind("\\0" + host["mine"]); abstract.listen()
except PermissionError: pass # sandbox-runtime refuses this family
port = socket.socket(); port.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); port.bind(("127.0.0.1", 47822)); port.listen()`,
    },
  },
  {
    ...does(
      "sessions/system-v-memory",
      "reads the System V shared memory, semaphores and queues of another session",
      `${key}
found = [libc.shmget(key, 0, 0), libc.semget(key, 0, 0), libc.msgget(key, 0)]
libc.shmat.restype = ctypes.c_void_p
if found[0] >= 0: show(ctypes.string_at(libc.shmat(found[0], None, 0), 64))
verdict = nothing([one for one in found if one >= 0])`,
      { ...apart, notTried: noSystemCalls },
    ),
    victim: {
      before: `${key}
made = libc.shmget(key, 4096, 0o1666), libc.semget(key, 1, 0o1666), libc.msgget(key, 0o1666)
libc.shmat.restype = ctypes.c_void_p
place = libc.shmat(made[0], None, 0)
if made[0] >= 0: ctypes.memmove(place, secret.encode(), len(secret))`,
      after: `${key}
for get, control in (("shmget", "shmctl"), ("semget", "semctl"), ("msgget", "msgctl")):
    number = getattr(libc, get)(*((key, 0) if get == "msgget" else (key, 0, 0)))
    if number >= 0: getattr(libc, control)(number, 0, *((0, 0) if control == "semctl" else (0,) if control == "shmctl" else (0,)))
verdict = "contained"`,
    },
  },
  {
    ...does(
      "sessions/posix-queues",
      "opens the POSIX message queue of another session",
      `verdict = refused(lambda: call("mq_open", host["mine"].encode(), os.O_RDWR, 0, 0), "opened it")`,
      { ...apart, notTried: noSystemCalls },
    ),
    victim: {
      before: `
try: queue = call("mq_open", host["mine"].encode(), os.O_RDWR | os.O_CREAT, 0o666, 0)
except OSError: pass # refused: then there is nothing to open either`,
    },
  },
  {
    ...does(
      "sessions/terminals",
      "writes to the terminal of another session",
      `
found = [name for name in (os.listdir("/dev/pts") if os.path.isdir("/dev/pts") else []) if name.isdigit()]
verdict = nothing(found, "saw terminals")`,
      { ...apart, notTried: noProcesses },
    ),
    victim: { before: `terminal = os.openpty()` },
  },
  {
    ...does(
      "sessions/watch-files",
      "watches shared files, to see when another session uses them",
      `
import ctypes, select
libc = ctypes.CDLL(None, use_errno=True)
fd = libc.inotify_init1(os.O_NONBLOCK)
if fd < 0: verdict = "contained"
else:
    import fnmatch, wave
    targets = ["/usr/bin", "/usr/bin/env", "/bin/true", os.path.dirname(os.__file__), os.path.dirname(os.__file__) + "/this.py", "/deps", "/"]
    watched = [path for path in targets if libc.inotify_add_watch(fd, path.encode(), 0x20 | 0x1 | 0x2 | 0x100) >= 0]
    ready = select.select([fd], [], [], 1)[0]
    seen = os.read(fd, 4096) if ready else b""
    os.close(fd)
    verdict = unless(seen, "saw events of " + str(len(watched)) + " files: " + repr(seen[16:40]))`,
      {
        ...apart,
        notTried: noSystemCalls,
        containedBy: { ...apart.containedBy, default: "system call filter: no inotify on files that cells share" },
      },
    ),
    victim: {
      before: `
import threading, time
def use():
    end = time.monotonic() + 4
    while time.monotonic() < end:
        for path in ("/usr/bin/env", "/bin/true", os.path.dirname(os.__file__) + "/this.py"):
            try: read(path, 16)
            except OSError: pass
        time.sleep(0.02)
threading.Thread(target=use, daemon=True).start()`,
    },
  },
  {
    ...does(
      "sessions/keyring",
      "reads keys that another session left in the keyring of their common user id",
      `verdict = first_of(*[lambda ring=ring: blocked("keyctl", 0, ring, 1) for ring in (-3, -4, -5)])`,
      { ...apart, containedBy: byFilter, notTried: noSystemCalls, weakness: "no-filter" },
    ),
  },
  {
    ...does(
      "sessions/same-random-numbers",
      "predicts the random numbers of another session, which started from the same template",
      `
import random, uuid, tempfile
random.seed() if False else None
drawn = [random.getrandbits(64), uuid.uuid4().int, random.SystemRandom().getrandbits(64)]
with open("/workspace/drawn", "w") as file: json.dump(drawn, file)
print("drawn", drawn[0])
verdict = unless(len(set(drawn)) < 3, "the same number twice")`,
      {
        ...apart,
        containedBy: { default: "each interpreter is seeded when it starts" },
        control: { none: "it compares numbers within one session; test/escape compares two" },
      },
    ),
  },
];
