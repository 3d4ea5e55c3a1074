import { afterAll, beforeAll, expect, test } from "vitest";
import type { LiveSession } from "../../src/sessions/live-session.ts";
import type { LiveSessions } from "../../src/sessions/live-sessions.ts";
import { describeAttacks, everyLayout, hostProcesses, look, openCells, run, within } from "../support/process-cells.ts";
import { systemCalls } from "../support/system-calls.ts";

describeAttacks(everyLayout, "the supervisor of the $name", (layout) => {
  let codecell: LiveSessions;
  let session: LiveSession;
  beforeAll(async () => {
    codecell = await openCells(layout, { proc: { timeout: "10s" } });
    session = await codecell.openSession();
  });
  afterAll(() => codecell?.close());

  test("is the only peer of the host: no socket of a container's start accepts a second connection", async () => {
    const code = `import json, os, socket
found, reached = [], []
for directory in ("/.channel", "/.kernel", "/run"):
    for base, _, names in os.walk(directory):
        for name in names:
            path = os.path.join(base, name)
            if not os.stat(path).st_mode & 0o170000 == 0o140000: continue
            found.append(path)
            end = socket.socket(socket.AF_UNIX)
            try: end.connect(path); reached.append(path)
            except OSError: pass
            end.close()
try: end = socket.socket(socket.AF_UNIX); end.connect("/.channel/s"); reached.append("/.channel/s")
except OSError: pass
print(json.dumps([found, reached]))`;
    expect(await look(session, code)).toEqual([[], []]);
  });

  test("survives every signal, by every way of sending one", async () => {
    const code = `${systemCalls}
import fcntl
buffer[0] = b"\\x09"; buffer[8] = b"\\xff"
for sig in range(1, 65):
    for target in (lambda: os.kill(1, sig), lambda: call(200, 1, sig), lambda: call(234, 1, 1, sig), lambda: call(129, 1, sig, buffer),
                   lambda: call(297, 1, 1, sig, buffer), lambda: os.killpg(1, sig)):
        try: target()
        except OSError: pass
    reader, writer = os.pipe()
    try:
        fcntl.fcntl(reader, fcntl.F_SETOWN, 1); fcntl.fcntl(reader, 10, sig)
        fcntl.fcntl(reader, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK); os.write(writer, b"x")
    except OSError: pass
    os.close(reader); os.close(writer)
print(json.dumps("sent"))`;
    expect(await within(10_000, look(session, code))).toBe("sent");
    expect(await run(session, "40 + 2")).toMatchObject({ status: "ok", value: "42" });
  });

  test.skipIf(layout.hasOwnKernel)("cannot be read, traced, slowed down or limited", async () => {
    const code = `${systemCalls}
readable = []
for name in ("mem", "environ", "maps", "smaps", "auxv", "fd", "fdinfo", "root", "cwd", "exe", "ns", "io", "pagemap", "stack", "syscall",
             "map_files", "task/1/mem", "task/1/environ", "personality", "patch_state", "clear_refs"):
    path = "/proc/1/" + name
    try:
        if os.path.isdir(path) and not os.path.islink(path): os.listdir(path)
        elif os.path.islink(path): os.readlink(path)
        else: os.read(os.open(path, os.O_RDONLY), 16)
        readable.append(name)
    except OSError: pass
open_calls = []
vector = (ctypes.c_ulong * 2)(ctypes.addressof(buffer), 16)
for name, number, args in (("ptrace attach", 101, (16, 1, 0, 0)), ("ptrace seize", 101, (0x4206, 1, 0, 0)),
    ("process_vm_readv", 310, (1, vector, 1, vector, 1, 0)), ("process_vm_writev", 311, (1, vector, 1, vector, 1, 0)),
    ("kcmp", 312, (1, 1, 0, 0, 0)), ("prlimit", 302, (1, 7, buffer, 0)), ("setpriority", 141, (0, 1, 19)),
    ("setpriority of the user", 141, (2, 0, 19)), ("setpriority of the group", 141, (1, 0, 19)), ("ioprio_set", 251, (1, 1, 0)),
    ("sched_setaffinity", 203, (1, 8, buffer)), ("sched_setscheduler", 144, (1, 5, buffer)), ("sched_setattr", 314, (1, buffer, 0)),
    ("process_madvise", 440, (0, vector, 1, 4, 0)), ("move_pages", 279, (1, 0, 0, 0, 0, 0)), ("migrate_pages", 256, (1, 0, 0, 0)),
    ("get_robust_list", 274, (1, buffer, buffer))):
    if call(number, *args) == 0: open_calls.append(name)
pidfd = libc.syscall(434, 1, 0)
for fd in range(32):
    if pidfd >= 0 and libc.syscall(438, pidfd, fd, 0) >= 0: open_calls.append("pidfd_getfd")
print(json.dumps([readable, open_calls]))`;
    if (process.arch === "x64") expect(await look(session, code)).toEqual([[], []]);
  });

  test("responds in time while every process of the cell sends signals and spins", async () => {
    const code = `import os
for _ in range(30):
    if os.fork() == 0:
        while True:
            try: os.kill(os.getpid(), 0)
            except BaseException: pass
while True: os.kill(os.getpid(), 0)`;
    const result = await within(15_000, run(session, code, { timeoutMs: 1_000 }));
    expect(result.status).toBe("timeout");
    expect(result.durationMs).toBeLessThan(8_000);
    expect(await within(10_000, run(session, "40 + 2"))).toMatchObject({ status: "ok", value: "42" });
  });

  test.skipIf(layout.hasOwnKernel)(
    "has no privileges on the host, and neither has any other process in the cell",
    async () => {
      const mark = `mark-${Math.random().toString(36).slice(2)}`;
      const going = session.run(
        `import subprocess\nprint("on", flush=True)\nsubprocess.run(["sh", "-c", "sleep 20; : ${mark}"])`,
      );
      let inside: ReturnType<typeof hostProcesses> = [];
      for await (const _ of going) {
        while (inside.length === 0)
          inside = hostProcesses().filter(({ command }) => command.startsWith(`sh -c sleep 20; : ${mark}`));
        break;
      }
      going.interrupt();
      await going;
      for (const { uid, status } of inside) {
        expect(uid).not.toBe(0);
        expect(status.Groups?.trim() ?? "").toMatch(/^(?:\d{4,})?$/);
        for (const set of ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"])
          expect(status[set]).toBe("0000000000000000");
        expect(status).toMatchObject({ NoNewPrivs: "1", Seccomp: "2" });
      }
    },
  );
});
