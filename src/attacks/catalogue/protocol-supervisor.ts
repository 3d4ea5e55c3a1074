import type { Attack } from "../attack.ts";
import { forging } from "./forging.ts";
import { does } from "./make-attack.ts";
import { noProcesses } from "./shared-facts.ts";

const supervisor = {
  kind: "protocol",
  containedBy: {
    default: "the supervisor is pid 1 of its namespace, and a filter guards signals",
    gvisor: "a filter guards signals to process 1",
  },
  notTried: noProcesses,
  endings: ["crashed", "timeout", "error"],
  hostChecks: ["session-misled"],
  weakness: "trusting-host",
  needsOwnCell: true,
} as const;

/** The supervisor of the cell, and the parked copy that restores its state. */
export const supervisorAttacks: readonly Attack[] = [
  does(
    "protocol/stop-supervisor",
    "stops or ends its supervisor with every signal there is",
    `
for number in range(1, 65):
    for send in (lambda: os.kill(1, number), lambda: os.killpg(1, number), lambda: call("tgkill", 1, 1, number), lambda: call("tkill", 1, number)):
        try: send()
        except (OSError, NotTried): pass
verdict = "contained"`,
    { ...supervisor, control: { none: "the OS protects process 1 of every container" } },
  ),
  does(
    "protocol/owner-signals",
    "makes the OS send signals to its supervisor, as the owner of a descriptor",
    `
import fcntl
for number in (9, 15, 19, 29):
    reader, writer = os.pipe()
    try:
        fcntl.fcntl(reader, fcntl.F_SETOWN, 1); fcntl.fcntl(reader, 10, number)
        fcntl.fcntl(reader, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK); os.write(writer, b"x")
    except OSError: pass
    os.close(reader); os.close(writer)
verdict = "contained"`,
    { ...supervisor, control: { none: "root of a control may not send these to an ordinary process either" } },
  ),
  does(
    "protocol/limit-supervisor",
    "takes time, memory or descriptors from its supervisor",
    `
import resource
done = []
for name in ("RLIMIT_CPU", "RLIMIT_NOFILE", "RLIMIT_AS", "RLIMIT_FSIZE"):
    try: resource.prlimit(1, getattr(resource, name), (1, 1)); done.append(name)
    except (OSError, ValueError): pass
try: os.setpriority(os.PRIO_PROCESS, 1, 19); done.append("priority")
except OSError: pass
try: os.sched_setaffinity(1, {0}); done.append("affinity")
except OSError: pass
verdict = nothing(done, "limited it")`,
    supervisor,
  ),
  does(
    "protocol/busy-supervisor",
    "keeps every process of the cell busy, so that the supervisor gets no turn",
    `
for _ in range(20):
    try:
        if os.fork() == 0:
            while True:
                try: os.kill(os.getpid(), 0)
                except BaseException: pass
    except OSError: break
while True: os.kill(os.getpid(), 0)`,
    {
      ...supervisor,
      timeoutMs: 800,
      hostChecks: ["session-misled", "host-stalled"],
      containedBy: { default: "the supervisor needs little, and the OS gives every process a turn" },
      control: { none: "the harm is a host that waits" },
    },
  ),
  does(
    "protocol/impersonate-copy",
    "lets a daemon claim to be the copy that restores its state",
    `${forging}
def claim():
    time.sleep(0.0005)
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            end = time.monotonic() + 3
            while time.monotonic() < end:
                for pid in (os.getpid(), 0, 1, -1, 2 ** 31): quietly(lambda: forge({"t": "parked", "pid": pid, "run": "x"}))
                time.sleep(0.005)
        os._exit(0)
threading.Thread(target=claim).start()
verdict = "contained"`,
    {
      ...supervisor,
      containedBy: { default: "the supervisor counts its own children; what it did not ask for is killed" },
      control: { none: "it attacks codecell's own copies" },
    },
  ),
  does(
    "protocol/blocked-forks",
    "makes every fork of its interpreter hang or fail, so that no copy can be made",
    `
import time
os.register_at_fork(before=lambda: time.sleep(1), after_in_child=lambda: os._exit(1))
verdict = "contained"`,
    {
      ...supervisor,
      containedBy: { default: "a copy that does not come is given up, and the result says so" },
      control: { none: "it attacks codecell's own copies" },
    },
  ),
  does(
    "protocol/second-connection",
    "connects to the socket over which its cell was started",
    `
found = []
for top in ("/.channel", "/.kernel", "/run", "/tmp", "/dev"):
    for base, _, names in os.walk(top):
        for name in names:
            path = os.path.join(base, name)
            try:
                if not stat.S_ISSOCK(os.stat(path).st_mode): continue
                with socket.socket(socket.AF_UNIX) as one: one.settimeout(1); one.connect(path); found.append(path)
            except OSError: pass
verdict = nothing(found, "connected to")`,
    {
      ...supervisor,
      needsOwnCell: false,
      hostChecks: [],
      containedBy: { default: "one connection is accepted, before user code exists; then the socket is removed" },
      control: { none: "only codecell's own cells have such a socket" },
    },
  ),
];
