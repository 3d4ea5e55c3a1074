import type { Attack, AttackException } from "../attack.ts";
import { does } from "./make-attack.ts";
import { noProcesses, noSockets, noSystemCalls } from "./shared-facts.ts";

const greedy = {
  kind: "cross-session",
  scenario: "neighbour",
  containedBy: {
    default: "a user id for each cell, or limits of each cell",
    gvisor: "each session has a gVisor kernel of its own",
    wasm: "each session has an interpreter of its own, in a process of its own",
  },
  needsOwnCell: true,
  endings: ["out_of_memory", "crashed"],
  weakness: "shared-cell",
} as const;

const shared: AttackException = {
  verdict: "locked",
  because: "a lock on a file that cells share holds against others; codecell takes none of them (SECURITY.md)",
};

/** What the OS counts per user id or per machine. One session takes all of it; the other must still be able to work. */
export const neighbourLimits: readonly Attack[] = [
  {
    ...does(
      "sessions/descriptors-in-flight",
      "sends so many descriptors to itself that nobody else may send one",
      `
held, sent = [], 0
try:
    while sent < 20_000:
        near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM); held += [near, far]
        near.setblocking(False)
        try:
            while sent < 20_000: socket.send_fds(near, [b"x"], [0] * 250); sent += 250
        except BlockingIOError: pass
except OSError: pass
verdict = "contained" # the other session says whether it can work`,
      { ...greedy, notTried: noSockets, hostChecks: ["host-stalled"] },
    ),
    victim: {
      after: `
near, far = socket.socketpair()
socket.send_fds(near, [b"x"], [0])
verdict = unless(not socket.recv_fds(far, 1, 1)[1], "it can send no descriptor")`,
    },
    control: { none: "a container of the tests runs as root, which has no such limit" },
  },
  {
    ...does(
      "sessions/watches",
      "takes every watch for files that its user id may have",
      `
import ctypes
libc, held = ctypes.CDLL(None, use_errno=True), []
while len(held) < 2000:
    fd = libc.inotify_init1(0)
    if fd < 0: break
    held.append(fd)
verdict = "contained"`,
      { ...greedy, notTried: noSystemCalls, hostChecks: ["host-stalled"] },
    ),
    victim: {
      after: `
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
fd = libc.inotify_init1(0)
refusal = ctypes.get_errno()
if fd >= 0: os.close(fd)
verdict = unless(fd < 0 and refusal == errno.EMFILE, "it can watch no file")`,
    },
  },
  {
    ...does(
      "sessions/pipes",
      "takes all memory for pipes that its user id may have",
      `
import fcntl
held = []
try:
    while len(held) < 120:
        pair = os.pipe(); held += pair
        fcntl.fcntl(pair[1], 1031, 1 << 20)
except OSError: pass
verdict = "contained"`,
      { ...greedy, notTried: noProcesses },
    ),
    victim: {
      after: `
import subprocess
printed = subprocess.run(["/bin/sh", "-c", "i=0; while [ $i -lt 2000 ]; do echo 12345678901234567890; i=$((i+1)); done"], capture_output=True).stdout
verdict = unless(len(printed) != 42_000, "a pipe of it is broken")`,
    },
    control: { none: "a full share makes pipes slow, and breaks nothing that a control could see" },
  },
  {
    ...does(
      "sessions/threads",
      "takes all processes that its user id may have",
      `
import threading
leave = threading.Event()
try:
    for _ in range(400): threading.Thread(target=leave.wait, daemon=True).start()
except RuntimeError: pass
verdict = "contained"`,
      { ...greedy, notTried: noProcesses, hostChecks: ["host-stalled"] },
    ),
    victim: {
      after: `
import subprocess
verdict = unless(subprocess.run(["/bin/sh", "-c", "exit 3"]).returncode != 3, "it can start no process")`,
    },
    control: { none: "a container of the tests runs as root, which has no such limit" },
  },
  {
    ...does(
      "sessions/pending-signals",
      "takes all pending signals and timers that its user id may have",
      `
import ctypes, signal
libc = ctypes.CDLL(None, use_errno=True)
signal.pthread_sigmask(signal.SIG_BLOCK, range(34, 64))
queued = 0
while queued < 200_000 and libc.sigqueue(os.getpid(), 40, None) == 0: queued += 1
verdict = "contained"`,
      { ...greedy, notTried: noProcesses },
    ),
    victim: {
      after: `
import ctypes, signal
libc = ctypes.CDLL(None, use_errno=True)
signal.pthread_sigmask(signal.SIG_BLOCK, {41})
verdict = unless(libc.sigqueue(os.getpid(), 41, None) != 0, "it can queue no signal")
signal.sigtimedwait({41}, 0)`,
    },
    control: { none: "the limit of a control's root is as large as the machine's" },
  },
  {
    ...does(
      "sessions/memory-for-all",
      "takes as much memory as it may, and keeps it",
      `
hog = b"x" * (150 << 20)
verdict = "contained"`,
      greedy,
    ),
    victim: {
      after: `
hog = b"y" * (100 << 20)
verdict = unless(len(hog) != 100 << 20, "it has no memory")
del hog`,
    },
    control: { none: "the machine of the tests has more than both" },
  },
  {
    ...does(
      "sessions/ports",
      "takes the ports that another session would listen on",
      `
held = []
for port in (8000, 8080, 8888, 5000, 3128):
    for family, address in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")):
        try: one = socket.socket(family); held.append(one); one.bind((address, port)); one.listen()
        except OSError: pass
verdict = "contained"`,
      { ...greedy, notTried: noSockets, containedBy: { default: "network namespace" } },
    ),
    victim: {
      after: `
taken = []
for port in (8000, 8080, 8888, 5000):
    with socket.socket() as one:
        try: one.bind(("127.0.0.1", port))
        except OSError: taken.append(port)
verdict = nothing(taken, "it cannot listen on")`,
    },
  },
  does(
    "sessions/locks",
    "locks files that other sessions and the host share with it",
    `
import fcntl
held = []
for path in (os.__file__, json.__file__, "/usr/bin/env", "/bin/sh"):
    try: fd = os.open(path, os.O_RDONLY)
    except OSError: continue
    try: fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB); held.append(path)
    except OSError: pass
    os.close(fd)
verdict = nothing(held, "locked")`,
    {
      ...greedy,
      needsOwnCell: false,
      notTried: noProcesses,
      exceptions: {
        process: shared,
        srt: shared,
        container: shared,
        kubernetes: shared,
        gvisor: { verdict: "locked", because: "gVisor's own kernel keeps the lock to itself" },
      },
    },
  ),
];
