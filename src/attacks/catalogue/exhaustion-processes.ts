import type { Attack } from "../attack.ts";
import { does, says } from "./make-attack.ts";
import { byFilter, except, noProcesses, noSystemCalls } from "./shared-facts.ts";

const processes = {
  kind: "exhaustion",
  containedBy: {
    default: "proc.pids: a control group, or the limit of the user id",
    gvisor: "proc.pids: gVisor's own kernel, and the supervisor's watch",
  },
  notTried: noProcesses,
  endings: ["timeout", "crashed", "out_of_memory"],
  weakness: "no-limits",
  needsOwnCell: true,
} as const;

const descriptors = {
  kind: "exhaustion",
  containedBy: { default: "proc.files: limit of open descriptors" },
  weakness: "no-limits",
} as const;

/** Processes, threads, descriptors and objects of the OS. The limits are 32 processes and 128 descriptors. */
export const processExhaustion: readonly Attack[] = [
  does(
    "exhaustion/processes",
    "starts more processes than its limit",
    `
import time
made = ended = 0
try:
    while made < 60:
        if os.fork() == 0: time.sleep(20); os._exit(0)
        made += 1
except OSError: pass
time.sleep(0.3)
try:
    while os.waitpid(-1, os.WNOHANG)[0]: ended += 1
except ChildProcessError: pass
verdict = unless(made - ended > 35, "%d processes" % (made - ended))`,
    { ...processes, hostChecks: ["session-misled"] },
  ),
  does(
    "exhaustion/fork-bomb",
    "starts processes that start processes, and ignore every signal",
    `
import signal, time
for number in set(range(1, 32)) - {9, 19}:
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
most, end, first = 0, time.monotonic() + 0.7, os.getpid()
while time.monotonic() < end and most < 80:
    try: os.fork()
    except OSError: pass
    most = max(most, len(pids()))
if os.getpid() != first:
    time.sleep(2); os._exit(0)
signal.signal(signal.SIGINT, signal.default_int_handler)
verdict = unless(most > 40, "%d processes" % most)`,
    { ...processes, timeoutMs: 4_000, hostChecks: ["session-misled", "host-stalled"] },
  ),
  does(
    "exhaustion/threads",
    "starts more threads than its limit of processes",
    `
import threading
leave, started = threading.Event(), []
try:
    while len(started) < 200:
        one = threading.Thread(target=leave.wait, daemon=True); one.start(); started.append(one)
except RuntimeError: pass
leave.set()
for one in started: one.join()
verdict = unless(len(started) >= 200, "%d threads" % len(started))`,
    { ...processes, notTried: { wasm: "there are no threads" }, hostChecks: ["session-misled"] },
  ),
  does(
    "exhaustion/descriptors",
    "opens more files than its limit",
    `
held = []
def more():
    while len(held) < 400: held.append(open("/workspace/many", "w"))
verdict = refused(more, "opened 400 files")
held.clear()`,
    descriptors,
  ),
  does(
    "exhaustion/descriptors-of-children",
    "opens files in many processes, to reach the limit of the whole machine",
    `
import time
reader, writer = os.pipe()
for _ in range(4):
    if os.fork() == 0:
        opened = 0
        try:
            while opened < 1000: os.open("/dev/null", os.O_RDONLY); opened += 1
        except OSError: pass
        os.write(writer, opened.to_bytes(4, "big")); os._exit(0)
opened = sum(int.from_bytes(os.read(reader, 4), "big") for _ in range(4))
for _ in range(4): os.wait()
verdict = unless(opened > 1000, "%d open files" % opened)`,
    { ...descriptors, notTried: noProcesses },
  ),
  does(
    "exhaustion/more-descriptors",
    "raises its limit of open files again",
    `
import resource
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
try:
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard + 1, hard + 1))
    verdict = "raised it"
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
except (OSError, ValueError): verdict = "contained"`,
    {
      ...descriptors,
      containedBy: { default: "no capabilities", gvisor: "gVisor's own kernel: no capabilities" },
      notTried: { wasm: "there are no such limits to change" },
      weakness: "privileged",
    },
  ),
  says(
    "exhaustion/priority",
    "takes a higher priority than other programs",
    `refused(lambda: os.nice(-10), "got it")`,
    {
      kind: "exhaustion",
      containedBy: { default: "no capabilities" },
      exceptions: except("gvisor", "got it", "a number of gVisor's own kernel, which the host does not see"),
      notTried: noProcesses,
      weakness: "privileged",
    },
  ),
  does(
    "exhaustion/real-time",
    "schedules itself before every ordinary program",
    `
try: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
except OSError: pass # gVisor's own kernel does not know this class
verdict = unless(os.sched_getscheduler(0) == os.SCHED_FIFO, "is a real-time program")`,
    {
      kind: "exhaustion",
      containedBy: { default: "no capabilities, system call filter" },
      notTried: noProcesses,
      control: { none: "a privileged one could stall the machine of the tests" },
    },
  ),
  says(
    "exhaustion/asynchronous-requests",
    "takes the machine's reserve of asynchronous file requests",
    `blocked("io_setup", 2000, (__import__("ctypes").c_ulong * 1)())`,
    { kind: "exhaustion", containedBy: byFilter, notTried: noSystemCalls, weakness: "no-filter" },
  ),
  does(
    "exhaustion/pending-signals",
    "queues more signals to itself than a user id may have",
    `
import ctypes, signal
libc = ctypes.CDLL(None, use_errno=True)
signal.pthread_sigmask(signal.SIG_BLOCK, {40})
queued = 0
while queued < 20000 and libc.sigqueue(os.getpid(), 40, None) == 0: queued += 1
while queued and signal.sigtimedwait({40}, 0): pass
signal.pthread_sigmask(signal.SIG_UNBLOCK, {40})
verdict = unless(queued >= 20000, "%d signals" % queued)`,
    {
      kind: "exhaustion",
      containedBy: { default: "limit of pending signals" },
      notTried: noProcesses,
      weakness: "no-limits",
    },
  ),
  does(
    "exhaustion/terminals",
    "takes every pseudo-terminal",
    `
import time
held = []
def take():
    try:
        while len(held) < 60: held.append(os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY))
    except OSError: pass
def taken(): return len(os.listdir("/dev/pts")) - 1
done, tell = os.pipe()
for _ in range(3):
    if os.fork() == 0: take(); os.write(tell, b"x"); time.sleep(20); os._exit(0)
take()
told = 0
while told < 3: told += len(os.read(done, 3))
end = time.monotonic() + 5
while taken() > 100 and time.monotonic() < end: time.sleep(0.02)
verdict = unless(taken() > 100, "%d terminals" % taken())
for one in held: os.close(one)`,
    {
      ...processes,
      containedBy: {
        default: "a limit of 64 terminals: of the cell's own /dev/pts in the template layout, else by the supervisor",
      },
    },
  ),
  does(
    "exhaustion/processors",
    "uses more processors than the host gives it",
    `verdict = unless(len(os.sched_getaffinity(0)) > host["processors"], "more processors than the host has")`,
    {
      kind: "exhaustion",
      containedBy: { default: "proc.cpus" },
      notTried: { wasm: "there is one thread" },
      control: { none: "a container has no more processors than its machine" },
    },
  ),
  does(
    "exhaustion/core-file",
    "crashes with a core file, as large as its memory",
    `
import resource
verdict = unless(resource.getrlimit(resource.RLIMIT_CORE)[1] > 1, "may write core files")`,
    {
      kind: "exhaustion",
      containedBy: { default: "limit of core files" },
      notTried: noProcesses,
      control: { none: "engines may have the same limit" },
    },
  ),
];
