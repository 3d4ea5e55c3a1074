import type { Attack } from "../attack.ts";
import { does } from "./make-attack.ts";
import { except, noProcesses, noSockets, noSystemCalls } from "./shared-facts.ts";

/** Who holds `proc.memory`. The program ends with an error, or the OS or the supervisor ends it. */
const byMemory: Attack["containedBy"] = {
  default: "proc.memory: a control group, or limits of the process and the supervisor's watch",
  container: "proc.memory: the engine's control group",
  gvisor: "proc.memory: the supervisor's watch, and the engine's control group around gVisor",
  wasm: "proc.memory: the ceiling of WebAssembly's memory",
};

const memory = {
  kind: "exhaustion",
  containedBy: byMemory,
  // a machine that is slow at taking memory back ends it by its time limit
  endings: ["out_of_memory", "crashed", "timeout"],
  weakness: "no-limits",
  needsOwnCell: true,
} as const;

/** The program stops at 900 MiB, which is more than proc.memory there and less than what the container may have. */
const inGvisorsHeap = except(
  "gvisor",
  "9",
  "buffers are in the heap of gVisor's kernel, which the container's memory limit bounds; the receipt names it",
);

/** Python: the amount that none of the cells may have, in steps, so that the harm in a control is bounded. */
const steps = `
STEP, STEPS = 32 << 20, 30
def fill(take):
    for _ in range(STEPS): take()
    return "took %d MiB of memory" % (STEP * STEPS >> 20)
def bounded(take):
    try: return fill(take)
    except (MemoryError, OSError): return "contained"
`;

/** Memory, by every way that is counted differently. The limit is 256 MiB, on gVisor 768. */
export const memoryExhaustion: readonly Attack[] = [
  does(
    "exhaustion/memory-heap",
    "takes more memory than its limit",
    `${steps}
hog = []
verdict = bounded(lambda: hog.append(b"x" * STEP))`,
    memory,
  ),
  does(
    "exhaustion/memory-one-allocation",
    "asks for a hundred gigabytes at once",
    `
try:
    hog = bytearray(100 << 30)
    verdict = "took 100 GiB"
except (MemoryError, OverflowError): verdict = "contained"`,
    { ...memory, needsOwnCell: false, control: { none: "the OS itself refuses more than the machine has" } },
  ),
  does(
    "exhaustion/memory-children",
    "takes more memory than its limit in several processes, each under it",
    `
import time
for _ in range(8):
    if os.fork() == 0:
        try: hog = b"x" * (128 << 20)
        except MemoryError: os._exit(1)
        time.sleep(1.5); os._exit(0)
alive = 0
for _ in range(8): alive += os.wait()[1] == 0
verdict = unless(alive == 8, "8 processes had 128 MiB each")`,
    { ...memory, notTried: noProcesses },
  ),
  does(
    "exhaustion/memory-shared-mapping",
    "takes more memory than its limit as shared anonymous memory",
    `${steps}
import mmap
hog = []
def take():
    hog.append(mmap.mmap(-1, STEP))
    hog[-1].write(b"x" * STEP)
verdict = bounded(take)`,
    { ...memory, notTried: noSystemCalls },
  ),
  does(
    "exhaustion/memory-memfd",
    "takes more memory than its limit in files that exist only in memory",
    `${steps}
hog = []
def take():
    if not hog: hog.append(os.memfd_create("hog"))
    left = STEP
    while left: left -= os.write(hog[0], bytes(min(left, 1 << 20)))
verdict = bounded(take)`,
    { ...memory, notTried: noSystemCalls },
  ),
  does(
    "exhaustion/memory-tmpfs",
    "takes more memory than its limit as files in /tmp and shared memory",
    `${steps}
made = []
def write(path):
    made.append(path)
    with open(path, "wb") as file:
        for _ in range(STEP >> 20): file.write(b"x" * (1 << 20)); file.flush()
written = 0
for directory in ("/tmp", "/dev/shm"):
    try:
        for n in range(STEPS):
            if written < STEP * STEPS: write("%s/hog%d" % (directory, n)); written += STEP
    except (MemoryError, OSError): pass
for path in made:
    if os.path.exists(path): os.remove(path)
verdict = unless(written >= STEP * STEPS, "%d MiB in memory" % (written >> 20))`,
    memory,
  ),
  does(
    "exhaustion/memory-unix-sockets",
    "hides memory in the buffers of Unix sockets",
    `
held, taken = [], 0
def fill(one):
    global taken
    one.setblocking(False)
    try:
        while True: taken += one.send(bytes(65536))
    except BlockingIOError: pass
try:
    while taken < 900 << 20:
        pair = socket.socketpair(); held.append(pair)
        for one in pair:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 24)
            fill(one)
except (MemoryError, OSError): pass
held.clear()
verdict = unless(taken >= 900 << 20, "%d MiB in sockets" % (taken >> 20))`,
    { ...memory, notTried: noSockets, exceptions: inGvisorsHeap },
  ),
  does(
    "exhaustion/memory-tcp-buffers",
    "hides memory in the buffers of connections to itself",
    `
held, taken = [], 0
server = socket.socket(); server.bind(("127.0.0.1", 0)); server.listen(200)
try:
    while taken < 900 << 20 and len(held) < 400:
        near = socket.create_connection(server.getsockname(), 2); far, _ = server.accept()
        held += [near, far]
        for one in (near, far):
            one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 24); one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)
            one.setblocking(False)
        for one in (near, far):
            quiet = 0
            while quiet < 3:
                try: taken += one.send(bytes(1 << 20)); quiet = 0
                except BlockingIOError: quiet += 1
except (MemoryError, OSError): pass
for one in held: one.close()
server.close()
print(taken >> 20)
verdict = unless(taken >= 300 << 20, "%d MiB in connections" % (taken >> 20))`,
    {
      ...memory,
      notTried: noSockets,
      exceptions: inGvisorsHeap,
      containedBy: {
        ...byMemory,
        default: "proc.files bounds how many connections there are; a control group counts their buffers",
      },
    },
  ),
  does(
    "exhaustion/memory-message-queues",
    "hides memory in System V message queues, which outlive a process",
    `
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
libc.msgsnd.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
message, taken, queues = buffer(8200), 0, []
message[0] = b"\\x01"
while taken < 400 << 20:
    queue = libc.msgget(0, 0o600)
    if queue < 0: break
    queues.append(queue)
    while libc.msgsnd(queue, message, 8000, 0o4000) == 0: taken += 8000
for queue in queues: libc.msgctl(queue, 0, None)
verdict = unless(taken >= 400 << 20, "%d MiB in queues" % (taken >> 20))`,
    { ...memory, notTried: noSystemCalls },
  ),
  does(
    "exhaustion/memory-locked",
    "locks memory in place, so that the OS cannot move it out",
    `
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
hog = bytearray(64 << 20)
address = (ctypes.c_char * len(hog)).from_buffer(hog)
verdict = unless(libc.mlock(address, ctypes.c_size_t(len(hog))) == 0, "locked 64 MiB")`,
    {
      ...memory,
      needsOwnCell: false,
      containedBy: { default: "limit of locked memory", gvisor: "gVisor's own kernel: it locks nothing on the host" },
      notTried: noSystemCalls,
      weakness: "privileged",
    },
  ),
  does(
    "exhaustion/memory-huge-pages",
    "takes the machine's reserve of huge pages",
    `
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
found = libc.mmap(None, 2 << 20, 3, 0x40022, -1, 0)
verdict = unless(found not in (None, ctypes.c_void_p(-1).value), "got a huge page")`,
    {
      ...memory,
      needsOwnCell: false,
      containedBy: {
        default: "system call filter, or no reserve",
        gvisor: "gVisor's own kernel: it has no huge pages",
      },
      notTried: noSystemCalls,
      control: { none: "it needs a machine whose operator reserved huge pages" },
    },
  ),
];
