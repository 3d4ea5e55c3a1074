import type { Attack, AttackException } from "../attack.ts";
import { does } from "./make-attack.ts";
import { noSockets, noSystemCalls } from "./shared-facts.ts";

/** Who holds `proc.disk`: 16 MiB here. */
const byDisk: Attack["containedBy"] = {
  default: "proc.disk: limit of one file, and a watch that ends the cell",
  wasm: "proc.disk: counted in the interpreter's file system",
};

const disk = {
  kind: "exhaustion",
  containedBy: byDisk,
  endings: ["crashed"],
  hostChecks: ["disk-filled"],
  weakness: "no-limits",
} as const;

/** Without a name in the workspace, only the process runner can count them. */
const uncounted: AttackException = {
  verdict: "kept",
  because: "the receipt of this runner says that deleted files are not counted (SECURITY.md)",
};
/** On WebAssembly no file is on the host's disk. */
const inMemory: AttackException = {
  verdict: "kept",
  because: "its files are in its memory, which proc.memory bounds",
};
/** On a pod, they are in memory too, but not in that of the interpreter. */
const inPodMemory: AttackException = {
  verdict: "out_of_memory",
  because: "its files are in memory, and the supervisor ends the run when the workspace is over proc.disk",
};
/** gVisor does not say how many entries a file system has. */
const uncountedEntries: AttackException = {
  verdict: "kept",
  because: "empty files are in the memory of gVisor's own kernel, which the pod's limit bounds",
};
const ended = { ...disk, needsOwnCell: true, timeoutMs: 8_000, exceptions: { kubernetes: inPodMemory } } as const;
const uncountedOutside = {
  kubernetes: inPodMemory,
  container: uncounted,
  podman: uncounted,
  kata: uncounted,
  gvisor: uncounted,
  srt: uncounted,
};

/** Python: 56 MiB in files under the limit of one file, and time for the host to notice. */
const filling = `
import time
held = []
def fill(one):
    for n in range(7): held.append(one(n))
    time.sleep(3)
    return "kept 56 MiB"
def bounded(one):
    try: return fill(one)
    except OSError: return "contained"
`;

/** The disk of the host: a program may write 16 MiB to its workspace. */
export const diskExhaustion: readonly Attack[] = [
  does(
    "exhaustion/disk-large-file",
    "writes a file larger than its disk limit",
    `
def fill():
    with open("/workspace/big", "wb") as file:
        for _ in range(64): file.write(bytes(1 << 20))
verdict = refused(fill, "wrote 64 MiB")
os.remove("/workspace/big")`,
    disk,
  ),
  does(
    "exhaustion/disk-many-files",
    "writes more than its disk limit in files that are each under it",
    `${filling}
def one(n):
    with open("/workspace/part%d" % n, "wb") as file: file.write(b"x" * (8 << 20))
verdict = bounded(one)`,
    ended,
  ),
  does(
    "exhaustion/disk-deleted-files",
    "fills the disk with files that it deletes while they are open",
    `${filling}
def one(n):
    fd = os.open("/workspace/gone%d" % n, os.O_CREAT | os.O_RDWR)
    os.unlink("/workspace/gone%d" % n)
    for _ in range(8): os.write(fd, b"x" * (1 << 20))
    return fd
verdict = bounded(one)`,
    { ...ended, exceptions: { ...uncountedOutside, wasm: inMemory } },
  ),
  does(
    "exhaustion/disk-unnamed-files",
    "fills the disk with files that never had a name",
    `${filling}
def one(n):
    fd = os.open("/workspace", os.O_TMPFILE | os.O_RDWR, 0o600)
    for _ in range(8): os.write(fd, b"x" * (1 << 20))
    return fd
verdict = bounded(one)`,
    { ...ended, exceptions: uncountedOutside, notTried: noSystemCalls },
  ),
  does(
    "exhaustion/disk-mapped-files",
    "fills the disk with deleted files that are only mapped",
    `${filling}
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
def one(n):
    fd = os.open("/workspace/mapped%d" % n, os.O_CREAT | os.O_RDWR)
    os.unlink("/workspace/mapped%d" % n)
    for _ in range(8): os.write(fd, b"x" * (1 << 20))
    libc.mmap(None, 4096, 1, 1, fd, 0)
    os.close(fd)
verdict = bounded(one)`,
    { ...ended, exceptions: uncountedOutside, notTried: noSystemCalls },
  ),
  does(
    "exhaustion/disk-files-in-flight",
    "fills the disk with deleted files that wait in a socket, where no process has them open",
    `${filling}
near, far = socket.socketpair()
def one(n):
    fd = os.open("/workspace/sent%d" % n, os.O_CREAT | os.O_RDWR)
    os.unlink("/workspace/sent%d" % n)
    for _ in range(8): os.write(fd, b"x" * (1 << 20))
    socket.send_fds(near, [b"x"], [fd])
    os.close(fd)
verdict = bounded(one)`,
    { ...ended, exceptions: uncountedOutside, notTried: noSockets },
  ),
  does(
    "exhaustion/disk-empty-files",
    "makes thousands of empty files, which take inodes and no bytes",
    `
import time
try:
    for n in range(4500): os.close(os.open("/workspace/empty%d" % n, os.O_CREAT | os.O_WRONLY))
    time.sleep(9)  # without new bytes, the watch looks every five seconds
    verdict = "kept 4500 files"
except OSError: verdict = "contained"`,
    {
      ...ended,
      timeoutMs: 15_000,
      exceptions: { wasm: inMemory, kubernetes: inPodMemory, "kubernetes-gvisor": uncountedEntries },
      containedBy: { default: "proc.disk: each entry counts as at least 4 KiB", wasm: byDisk.wasm ?? "" },
    },
  ),
  does(
    "exhaustion/disk-behind-empty-files",
    "hides large files behind thousands of cheap entries, which slow the measurement down",
    `
import time
try:
    for n in range(2000): os.close(os.open("/workspace/empty%d" % n, os.O_CREAT | os.O_WRONLY))
    time.sleep(0.5)
    for n in range(6):
        with open("/workspace/large%d" % n, "wb") as file: file.write(b"x" * (8 << 20))
    time.sleep(3)
    verdict = "kept 48 MiB"
except OSError: verdict = "contained"`,
    { ...ended, timeoutMs: 15_000 },
  ),
  does(
    "exhaustion/disk-sparse-file",
    "makes a file that claims eight terabytes",
    `
def hole():
    with open("/workspace/hole", "wb") as file: file.truncate(8 << 40)
verdict = refused(hole, "made it")
os.remove("/workspace/hole")`,
    disk,
  ),
  does(
    "exhaustion/disk-reserved",
    "reserves disk space without writing to it",
    `
def reserve():
    with open("/workspace/reserved", "wb") as file: os.posix_fallocate(file.fileno(), 0, 64 << 20)
verdict = refused(reserve, "reserved 64 MiB")
os.remove("/workspace/reserved")`,
    { ...disk, containedBy: { ...byDisk, default: "limit of one file, system call filter" }, notTried: noSystemCalls },
  ),
  does(
    "exhaustion/disk-reserved-in-parts",
    "reserves disk space in many small files, without writing to them",
    `
def reserve():
    for n in range(10):
        with open("/workspace/reserved%d" % n, "wb") as file: call("fallocate", file.fileno(), 0, 0, 12 << 20)
verdict = refused(reserve, "reserved 120 MiB")`,
    { ...ended, containedBy: { ...byDisk, default: "system call filter" }, notTried: noSystemCalls },
  ),
  does(
    "exhaustion/disk-deep-directories",
    "makes directories too deep for a path, so that they cannot be measured or removed",
    `
depth = 0
try:
    while depth < 1500: os.mkdir("d" * 200); os.chdir("d" * 200); depth += 1
except OSError: pass
os.chdir("/workspace")
verdict = "contained" # the host must still start, measure and close sessions`,
    {
      ...ended,
      hostChecks: ["disk-filled", "session-misled", "host-stalled"],
      containedBy: { default: "measured and removed through descriptors, without paths", wasm: byDisk.wasm ?? "" },
      exceptions: { wasm: { verdict: "timeout", because: "paths have no limit there, so the time limit ends it" } },
      control: { none: "the harm is a host that cannot remove a directory" },
    },
  ),
  does(
    "exhaustion/disk-long-names",
    "makes a thousand files with the longest names, which must fit into one message",
    `
try:
    for n in range(1000):
        os.close(os.open("/workspace/" + ("%04d" % n) + "\\u00e9" * 120, os.O_CREAT | os.O_WRONLY))
except OSError: pass
verdict = "contained" # the supervisor must still answer`,
    {
      ...ended,
      endings: ["crashed", "error"],
      hostChecks: ["session-misled"],
      containedBy: { default: "the supervisor lists what fits, and says that there is more" },
      control: { none: "it attacks codecell's own list of changed files" },
    },
  ),
  does(
    "exhaustion/disk-churn",
    "creates, renames and deletes files without end, while the host looks at them",
    `
import time
end, n = time.monotonic() + 1, 0
while time.monotonic() < end:
    n += 1
    path = "/workspace/churn%d" % (n % 50)
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY)); os.rename(path, path + "x"); os.remove(path + "x")
verdict = "contained"`,
    {
      ...ended,
      hostChecks: ["session-misled"],
      containedBy: { default: "files are opened one directory at a time; what is gone is left out" },
      control: { none: "the harm would be in the host that looks at them" },
    },
  ),
];
