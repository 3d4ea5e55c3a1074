import type { Attack } from "../attack.ts";
import { does, says } from "./make-attack.ts";
import { byFilter, noSystemCalls } from "./shared-facts.ts";

const filter = { containedBy: byFilter, notTried: noSystemCalls } as const;

/** A system call that must not get past the filter: id, what it is for, the call and its arguments in Python. */
const calls: readonly (readonly [id: string, title: string, call: string])[] = [
  ["unshare-user", "makes a user namespace, where it would be root", `"unshare", 0x10000000`],
  ["unshare-mount", "makes a mount namespace", `"unshare", 0x00020000`],
  ["unshare-network", "makes a network namespace", `"unshare", 0x40000000`],
  ["unshare-pid", "makes a pid namespace", `"unshare", 0x20000000`],
  ["unshare-ipc", "makes an IPC namespace", `"unshare", 0x08000000`],
  ["unshare-uts", "makes a UTS namespace", `"unshare", 0x04000000`],
  ["unshare-cgroup", "makes a cgroup namespace", `"unshare", 0x02000000`],
  ["mount", "mounts a file system", `"mount", b"none", b"/tmp", b"tmpfs", 0, 0`],
  ["bind-mount", "mounts a directory over another", `"mount", b"/", b"/tmp", 0, 4096, 0`],
  ["remount", "makes its root writable", `"mount", 0, b"/", 0, 32, 0`],
  ["unmount", "removes the cover of /proc/sys", `"umount2", b"/proc/sys", 2`],
  ["pivot-root", "swaps its root directory", `"pivot_root", b"/tmp", b"/tmp"`],
  ["chroot", "changes its root directory", `"chroot", b"/tmp"`],
  ["fsopen", "makes a file system without mount()", `"fsopen", b"tmpfs", 0`],
  ["open-tree", "copies a part of the mount tree", `"open_tree", -100, b"/", 1`],
  ["move-mount", "moves a mount", `"move_mount", -1, b"", -1, b"", 4`],
  ["mount-setattr", "changes the options of a mount", `"mount_setattr", -100, b"/", 0, buffer(), 32`],
  [
    "file-handle",
    "makes a handle that opens a file without its path",
    `"name_to_handle_at", -100, b"/usr", buffer(), buffer(), 0`,
  ],
  ["open-by-handle", "opens a file of the host by its handle", `"open_by_handle_at", -100, buffer(), 0`],
  ["bpf", "loads a program into the Linux kernel", `"bpf", 0, buffer(), 64`],
  ["perf", "observes the Linux kernel with performance counters", `"perf_event_open", buffer(), 0, -1, -1, 0`],
  ["add-key", "leaves a key in a keyring, which no namespace separates", `"add_key", b"user", b"k", b"x", 1, -2`],
  ["request-key", "asks the host for a key", `"request_key", b"user", b"k", 0, -2`],
  ["keyctl", "reads a keyring", `"keyctl", 0, -3, 1`],
  ["io-uring", "bypasses the filter with io_uring", `"io_uring_setup", 8, buffer()`],
  ["userfaultfd", "stalls the Linux kernel at a page fault", `"userfaultfd", 0`],
  ["personality", "turns off address randomization", `"personality", 0x0040000`],
  ["init-module", "loads a Linux kernel module from memory", `"init_module", buffer(), 1, b""`],
  ["finit-module", "loads a Linux kernel module from a file", `"finit_module", 0, b"", 0`],
  ["delete-module", "unloads a Linux kernel module", `"delete_module", b"no-such-module", 0`],
  ["kexec", "starts another Linux kernel", `"kexec_load", 0, 0, 0, 0`],
  ["syslog", "reads the Linux kernel's log", `"syslog", 3, buffer(), 16`],
  ["adjtimex", "shifts the host's clock", `"clock_adjtime", 0, buffer()`],
  ["reboot", "restarts the machine", `"reboot", 0xFEE1DEAD, 672274793, 0, 0`],
  ["swapon", "adds swap space", `"swapon", b"/tmp/no-such-file", 0`],
  ["iopl", "takes over input and output ports", `"iopl", 3`],
  ["ioperm", "opens an input and output port", `"ioperm", 0x80, 1, 1`],
  ["quotactl", "changes disk quotas", `"quotactl", 0, 0, 0, 0`],
  ["acct", "records every process of the host in a file", `"acct", b"/tmp/no-such-file"`],
  ["modify-ldt", "changes its segment table", `"modify_ldt", 1, buffer(), 16`],
  ["vmsplice", "gives memory to a pipe and changes it later", `"vmsplice", 1, buffer(), 0, 0`],
  ["mbind", "moves memory between the nodes of the machine", `"mbind", 0, 0, 0, 0, 0, 0`],
  ["memfd-secret", "makes memory that the Linux kernel itself cannot read", `"memfd_secret", 0`],
  ["fanotify", "watches every file of the host", `"fanotify_init", 0, 0`],
  ["lookup-dcookie", "finds the path of a file by a number", `"lookup_dcookie", 0, buffer(), 16`],
  ["ptrace", "traces process 1", `"ptrace", 16, 1, 0, 0`],
  ["read-memory", "reads the memory of process 1", `"process_vm_readv", 1, buffer(), 1, buffer(), 1, 0`],
  ["write-memory", "writes to the memory of process 1", `"process_vm_writev", 1, buffer(), 1, buffer(), 1, 0`],
  ["steal-descriptor", "takes a descriptor from process 1", `"pidfd_getfd", 0, 0, 0`],
  ["compare-processes", "compares its resources with those of process 1", `"kcmp", 1, 1, 0, 0, 0`],
];

/** The Linux kernel is the wall of most tiers, so its large and dangerous interfaces are closed. */
export const linuxKernelAttacks: readonly Attack[] = [
  ...calls.map(([id, title, call]) =>
    says(`linux-kernel/${id}`, title, `blocked(${call})`, { ...filter, weakness: "privileged" }),
  ),
  does(
    "linux-kernel/clone-namespaces",
    "starts a process in new namespaces",
    `
import ctypes
libc, found = ctypes.CDLL(None, use_errno=True), []
for flag in (0x10000000, 0x20000000, 0x00020000, 0x40000000, 0x08000000, 0x04000000, 0x02000000):
    pid = libc.syscall(ctypes.c_long(host["calls"]["clone"]), ctypes.c_long(flag | 17), 0, 0, 0, 0)
    if pid == 0: os._exit(0)
    if pid > 0: os.waitpid(pid, 0); found.append("%x" % flag)
verdict = nothing(found, "started with")`,
    { ...filter, weakness: "privileged" },
  ),
  does(
    "linux-kernel/clone3",
    "starts a process with flags that a filter cannot see",
    `
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
arguments = (ctypes.c_ulong * 11)(0x10000000, 0, 0, 0, 17)
pid = libc.syscall(ctypes.c_long(435), arguments, ctypes.c_long(88))
if pid == 0: os._exit(0)
if pid > 0: os.waitpid(pid, 0)
verdict = "contained" if pid < 0 and ctypes.get_errno() in REFUSALS else "clone3 answered %d" % (pid or ctypes.get_errno())`,
    { ...filter, weakness: "privileged" },
  ),
  does(
    "linux-kernel/setns",
    "enters the namespaces of process 1",
    `
found = []
for name in os.listdir("/proc/self/ns"):
    for pid in ("1", "self"):
        try: fd = os.open("/proc/%s/ns/%s" % (pid, name), os.O_RDONLY)
        except OSError: continue
        said = blocked("setns", fd, 0)
        if said != "contained": found.append([pid, name, said])
        os.close(fd)
verdict = nothing(found, "entered")`,
    { ...filter, weakness: "privileged" },
  ),
  does(
    "linux-kernel/unknown-calls",
    "makes system calls of newer Linux kernels, and those of another table",
    `
import ctypes
libc, found = ctypes.CDLL(None, use_errno=True), []
for number in list(range(470, 520)) + [0x40000000 + 39, 0x40000000 + 0x200]:
    pid = os.fork() # a filter may kill the process
    if pid == 0:
        ctypes.set_errno(0)
        result = libc.syscall(ctypes.c_long(number), 0, 0, 0, 0)
        os._exit(7 if result >= 0 or ctypes.get_errno() not in (1, 38) else 0)
    code = os.waitpid(pid, 0)[1]
    if os.WIFEXITED(code) and os.WEXITSTATUS(code) == 7: found.append(number)
verdict = nothing(found, "answered")`,
    { ...filter, control: { none: "whether a Linux kernel has newer calls depends on its version" } },
  ),
  does(
    "linux-kernel/type-into-terminal",
    "types into the terminal of the user who started codecell",
    `
import fcntl, pty
master, slave = pty.openpty()
found = []
for request in (0x5412, 0x541c, 0x5423):
    try: fcntl.ioctl(slave, request, b"x"); found.append(hex(request))
    except OSError: pass
try: os.open("/dev/tty", os.O_RDWR); found.append("a controlling terminal")
except OSError: pass
os.close(master); os.close(slave)
verdict = nothing(found, "typed with")`,
    { ...filter, weakness: "privileged" },
  ),
  does(
    "linux-kernel/set-clock",
    "sets the host's clock",
    `
import ctypes, time
now = time.time()
# the time that it is: where this works, nothing changes
verdict = blocked("clock_settime", 0, (ctypes.c_long * 2)(int(now), int((now % 1) * 1e9)))`,
    { ...filter, weakness: "privileged" },
  ),
  does(
    "linux-kernel/set-clock-of-day",
    "sets the host's clock by the older call",
    `
import ctypes, time
now = time.time()
verdict = blocked("settimeofday", (ctypes.c_long * 2)(int(now), int((now % 1) * 1e6)), 0)`,
    { ...filter, weakness: "privileged" },
  ),
  does(
    "linux-kernel/rename-host",
    "renames the host",
    `
name = socket.gethostname().encode()
# the name that it has: where this works, nothing changes
verdict = first_of(lambda: blocked("sethostname", name, len(name)), lambda: blocked("setdomainname", b"(none)", 6))`,
    { ...filter, weakness: "privileged" },
  ),
  does(
    "linux-kernel/other-system-call-table",
    "makes system calls of 32-bit programs, which the filter would not understand",
    `
import ctypes, mmap
if os.uname().machine != "x86_64": not_tried("only x86-64 has a second table")
pid = os.fork()
if pid == 0:
    page = mmap.mmap(-1, 4096, prot=7); page.write(bytes.fromhex("b814000000cd80c3")) # getpid by int 0x80
    got = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()
    os._exit(7 if got == os.getpid() else 8)
code = os.waitpid(pid, 0)[1]
verdict = unless(os.WIFEXITED(code) and os.WEXITSTATUS(code) == 7, "a 32-bit call was answered")`,
    { ...filter, weakness: "privileged" },
  ),
];
