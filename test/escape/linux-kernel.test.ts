import { afterAll, beforeAll, expect, test } from "vitest";
import type { LiveSession } from "../../src/sessions/live-session.ts";
import type { LiveSessions } from "../../src/sessions/live-sessions.ts";
import { describeAttacks, everyLayout, look, openCells, run } from "../support/process-cells.ts";
import { systemCalls } from "../support/system-calls.ts";

// the system call numbers below are those of x64
const layouts = process.arch === "x64" ? everyLayout : [];
const containers = process.arch === "x64" ? undefined : [];

describeAttacks(
  layouts,
  "the Linux kernel in the $name",
  (layout) => {
    let codecell: LiveSessions;
    let session: LiveSession;
    beforeAll(async () => {
      codecell = await openCells(layout);
      session = await codecell.openSession();
    });
    afterAll(() => codecell?.close());

    test("refuses new namespaces, mounts and roots", async () => {
      const code = `${systemCalls}
done = []
for flag in (0x10000000, 0x20000000, 0x00020000, 0x40000000, 0x08000000, 0x04000000, 0x02000000, 0x80, 0x7e020000):
    if call(272, flag) == 0: done.append("unshare %x" % flag)
    pid = libc.syscall(56, ctypes.c_long(flag | 17), 0, 0, 0, 0) if flag > 0xff else -1
    if pid == 0: os._exit(0)
    if pid > 0: done.append("clone %x" % flag)
arguments = (ctypes.c_ulong * 11)(0x10000000, 0, 0, 0, 17)
if libc.syscall(435, arguments, 88) >= 0: done.append("clone3")
for name, number, args in (("mount", 165, (b"none", b"/tmp", b"tmpfs", 0, 0)), ("bind", 165, (b"/", b"/tmp", 0, 4096, 0)),
    ("remount", 165, (0, b"/usr", 0, 32 | 4096, 0)), ("umount", 166, (b"/run", 2)), ("umount proc", 166, (b"/proc/sys", 2)),
    ("pivot_root", 155, (b"/tmp", b"/tmp")), ("chroot", 161, (b"/tmp",)), ("fsopen", 430, (b"tmpfs", 0)), ("open_tree", 428, (-100, b"/", 1)),
    ("move_mount", 429, (-1, b"", -1, b"", 4)), ("mount_setattr", 442, (-100, b"/", 0, buffer, 32)), ("setns", 308, (0, 0))):
    if call(number, *args) == 0: done.append(name)
for name in os.listdir("/proc/self/ns"):
    if call(308, os.open("/proc/self/ns/" + name, os.O_RDONLY), 0) == 0: done.append("setns " + name)
print(json.dumps(done))`;
      expect(await look(session, code)).toEqual([]);
    });

    test("refuses bpf, keyrings, io_uring, modules, raw sockets and other large interfaces", async () => {
      const code = `${systemCalls}
import socket
done = []
for name, number, args in (("bpf", 321, (0, buffer, 64)), ("perf_event_open", 298, (buffer, 0, -1, -1, 0)), ("keyctl", 250, (0, -3, 1)),
    ("add_key", 248, (b"user", b"k", b"x", 1, -2)), ("request_key", 249, (b"user", b"k", 0, -2)), ("io_uring_setup", 425, (8, buffer)), ("io_setup", 206, (1, buffer)),
    ("userfaultfd", 323, (0,)), ("kexec_load", 246, (0, 0, 0, 0)), ("init_module", 175, (buffer, 1, b"")), ("finit_module", 313, (0, b"", 0)),
    ("delete_module", 176, (b"x", 0)), ("ptrace traceme", 101, (0, 0, 0, 0)), ("personality", 135, (0x0040000,)),
    ("name_to_handle_at", 303, (-100, b"/usr", buffer, buffer, 0)), ("open_by_handle_at", 304, (-100, buffer, 0)), ("fanotify", 300, (0, 0)),
    ("syslog", 103, (3, buffer, 16)), ("reboot", 169, (0xfee1dead, 672274793, 0, 0)), ("swapon", 167, (b"/tmp/x", 0)), ("iopl", 172, (3,)),
    ("ioperm", 173, (0x80, 1, 1)), ("settimeofday", 164, (buffer, 0)), ("adjtimex", 159, (buffer,)), ("sethostname", 170, (b"x", 1)),
    ("acct", 163, (0,)), ("quotactl", 179, (0, 0, 0, 0)), ("vhangup", 153, ()), ("mbind", 237, (0, 0, 0, 0, 0, 0)), ("vmsplice", 278, (1, buffer, 0, 0)),
    ("modify_ldt", 154, (1, buffer, 16)), ("memfd_secret", 447, (0,)), ("lookup_dcookie", 212, (0, buffer, 16)), ("landlock? no: uselib", 134, (b"/x",)),
    ("setuid root", 105, (0,)), ("setgroups", 116, (0, buffer)), ("mknod", 133, (b"/tmp/disk", 0o60600, 0x800))):
    if call(number, *args) == 0: done.append(name)
for family in range(2, 48):
    for kind in (1, 2, 3, 5, 6):
        for protocol in (0, 1, 3, 9, 15, 132, 255):
            try: socket.socket(family, kind, protocol).close()
            except OSError: continue
            if (family, kind) not in ((2, 1), (2, 2), (10, 1), (10, 2)) or protocol not in (0, 6, 17): done.append((family, kind, protocol))
print(json.dumps(done))`;
      // gVisor allows mknod, but there is no device behind the node
      expect(await look(session, code)).toEqual(layout.hasOwnKernel ? ["mknod"] : []);
    });

    test("does not let code type into a terminal", async () => {
      const code = `
import fcntl, os, pty, struct
master, slave = pty.openpty()
done = []
for request in (0x5412, 0x100005412, 0x541c, 0x5423, 0xffffffff00005412):
    try: fcntl.ioctl(slave, request & 0xffffffff, b"x"); done.append(request)
    except OSError: pass
try: os.open("/dev/tty", os.O_RDWR); done.append("a controlling terminal")
except OSError: pass
print(json.dumps(done))`;
      expect(await look(session, code)).toEqual([]);
    });

    test("shows nothing in /proc that tells what the machine and its other tenants do, or which machine it is", async () => {
      const code = `
import os
shown = []
for name in ("zoneinfo", "vmstat", "softirqs", "buddyinfo", "locks", "interrupts", "diskstats", "sys/kernel/random/boot_id"):
    try:
        if open("/proc/" + name).read(1): shown.append(name)
    except OSError: pass
for name in ("fs", "bus", "irq", "pressure", "acpi", "scsi"):
    try:
        if os.listdir("/proc/" + name): shown.append(name)
    except OSError: pass
print(json.dumps(shown))`;
      expect(await look(session, code)).toEqual([]);
    });

    // bubblewrap and container engines cannot limit them: there the Linux kernel keeps a reserve for the host
    test.runIf(layout.options.layout === "template")("does not let one cell use up all terminals", async () => {
      const code = `
import pty
held = []
try:
    while len(held) < 256: held.append(pty.openpty())
except OSError: pass
print(json.dumps(len(held)))`;
      expect(await look(session, code)).toBeLessThanOrEqual(64);
    });

    test("gives no privileges to set-user-ID programs, neither existing nor new ones", async () => {
      const code = `
import os, shutil, subprocess
uids = set()
for path in ("/usr/bin/su", "/usr/bin/passwd", "/usr/bin/mount", "/usr/bin/newgrp", "/usr/bin/sudo"):
    if os.path.exists(path): subprocess.run([path, "--help"], capture_output=True, timeout=5)
shutil.copy("/usr/bin/id", "/tmp/id"); os.chmod("/tmp/id", 0o6755)
uids.add(subprocess.run(["/tmp/id", "-u"], capture_output=True, text=True).stdout.strip())
print(json.dumps([sorted(uids), os.getresuid(), os.getgroups()]))`;
      const [uids, real] = (await look(session, code)) as [string[], number[]];
      const [own = 0] = layout.make ? real : [1000];
      expect(own).not.toBe(0);
      expect(uids).toEqual([String(own)]);
      expect(real).toEqual([own, own, own]);
    });

    test("writes no core file of a crashed process", async () => {
      const code = `
import glob, os, resource, subprocess
subprocess.run(["sh", "-c", "ulimit -c unlimited; kill -SEGV $$"], cwd="/workspace", capture_output=True)
print(json.dumps([glob.glob("/workspace/core*"), resource.getrlimit(resource.RLIMIT_CORE)[1] <= 1]))`;
      expect(await look(session, code)).toEqual([[], true]);
    });

    test.skipIf(layout.hasOwnKernel)("kills a process that uses another system call table", async () => {
      const code = `import ctypes, mmap
page = mmap.mmap(-1, 4096, prot=7); page.write(bytes.fromhex("b814000000cd80c3"))
ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()`;
      expect(await run(session, code)).toMatchObject({ status: "crashed" });
      expect(
        await look(
          session,
          "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\nprint(json.dumps(libc.syscall(ctypes.c_long(0x40000000 + 39))))",
        ),
      ).toBe(-1);
    });
  },
  containers,
);
