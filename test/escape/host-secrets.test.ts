import { randomBytes } from "node:crypto";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { homedir, hostname, tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { LiveSession } from "../../src/sessions/live-session.ts";
import type { LiveSessions } from "../../src/sessions/live-sessions.ts";
import { bothLayouts, describeAttacks, everyLayout, look, openCells, run } from "../support/process-cells.ts";
import { isThorough } from "../support/thorough.ts";

/** Code for the cell contains only its two halves. Otherwise the search would find the code itself. */
const canary = `canary${randomBytes(12).toString("hex")}`;
const halves = [canary.slice(0, 12), canary.slice(12)] as const;
const planted: string[] = [];

beforeAll(async () => {
  process.env.CODECELL_TEST_SECRET = canary;
  for (const parent of [homedir(), tmpdir(), "/run", "/dev/shm", "/var/tmp"]) {
    const directory = await mkdtemp(join(parent, "codecell-canary-")).catch(() => undefined);
    if (directory === undefined) continue; // only root can write there
    planted.push(directory);
    await chmod(directory, 0o755);
    await writeFile(join(directory, "secret.txt"), canary, { mode: 0o644 });
  }
});
afterAll(async () => {
  delete process.env.CODECELL_TEST_SECRET;
  await Promise.all(planted.map((directory) => rm(directory, { recursive: true, force: true })));
});

// control groups hide nothing
describeAttacks(isThorough ? everyLayout : bothLayouts, "host secrets in the $name", (layout) => {
  let codecell: LiveSessions;
  let session: LiveSession;
  beforeAll(async () => {
    codecell = await openCells(layout);
    session = await codecell.openSession();
  });
  afterAll(() => codecell?.close());

  test("are in no file that code can open", async () => {
    const search = `
import os, stat
needle = ("${halves[0]}" + "${halves[1]}").encode()
needles = [needle, needle[::-1]]
found, opened = [], 0
for root in ("/etc", "/root", "/home", "/tmp", "/var", "/run", "/dev", "/sys", "/opt", "/srv", "/mnt", "/media", "/workspace",
             "/.kernel", "/proc/1", "/proc/self", "/proc/thread-self", "/proc/sys", "/proc/fs", "/proc/bus", "/proc/tty"):
    for directory, names, files in os.walk(root, onerror=lambda error: None):
        if directory.count("/") > 8: names.clear()
        for name in files:
            path = directory + "/" + name
            if path.endswith("/mem") or "kmsg" in path: continue
            try:
                fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
            except OSError:
                continue
            try:
                data = os.read(fd, 1 << 16)
                opened += 1
                if any(n in data for n in needles): found.append(path)
            except OSError:
                pass
            finally:
                os.close(fd)
print(json.dumps([found, opened > 100]))`;
    expect(await look(session, search)).toEqual([[], true]);
  });

  test("are in no environment, command line or memory that code can read", async () => {
    const search = `
import os
needle = ("${halves[0]}" + "${halves[1]}").encode()
found = []
for pid in [p for p in os.listdir("/proc") if p.isdigit()]:
    for name in ("environ", "cmdline", "auxv", "maps", "mountinfo", "status", "cgroup"):
        try:
            if needle in open("/proc/%s/%s" % (pid, name), "rb").read(): found.append((pid, name))
        except OSError: pass
with open("/proc/self/mem", "rb", 0) as memory:
    for line in open("/proc/self/maps"):
        span, rights = line.split()[:2]
        if "r" not in rights or "[v" in line: continue
        start, end = (int(x, 16) for x in span.split("-"))
        try:
            memory.seek(start)
            if memory.read(min(end - start, 64 << 20)).count(needle) > 1: found.append(line)
        except (OSError, ValueError, OverflowError): pass
print(json.dumps([found, any(needle.decode() in v for v in os.environ.values())]))`;
    const [found, inEnvironment] = (await look(session, search)) as [string[], boolean];
    // the search itself has the canary in its own memory
    expect(found.filter((line) => Array.isArray(line))).toEqual([]);
    expect(inEnvironment).toBe(false);
  });

  test.each(["/proc/self/root", "/proc/1/root", "/proc/1/cwd", "/proc/self/cwd/../..", "/proc/thread-self/root"])(
    "are not reachable through %s",
    async (root) => {
      const paths = planted.map((directory) => `${root}${directory}/secret.txt`);
      const code = `print(json.dumps([path for path in ${JSON.stringify(paths)} if __import__("os").path.exists(path)]))`;
      expect(await look(session, code)).toEqual([]);
    },
  );

  test("such as accounts, keys and service sockets are not visible", async () => {
    const code = `
import os
names = ["/etc/shadow", "/etc/gshadow", "/etc/ssh", "/etc/sudoers", "/root", "/home", "/boot", "/sys", "/var/run/docker.sock",
         "/run/docker.sock", "/run/dbus", "/run/systemd", "/proc/kcore", "/proc/kallsyms", "/proc/keys", "/dev/mem", "/dev/kmsg",
         "/dev/sda", "/dev/kvm", "/dev/fuse", "/dev/net/tun"]
def readable(path):
    try: return bool(os.listdir(path)) if os.path.isdir(path) else bool(os.read(os.open(path, os.O_RDONLY | os.O_NONBLOCK), 16))
    except OSError: return False
print(json.dumps([name for name in names if readable(name)]))`;
    // gVisor has its own sysfs
    expect(await look(session, code)).toEqual(layout.hasOwnKernel ? ["/sys"] : []);
  });

  test("such as user names and paths are not in the mount table, the accounts or the host name", async () => {
    const code = `
import os, socket, pwd
text = open("/proc/self/mountinfo").read() + open("/proc/1/mountinfo").read() + open("/proc/1/cmdline").read()
text += open("/etc/passwd").read() + open("/proc/self/cgroup").read() + socket.gethostname() + pwd.getpwuid(os.getuid()).pw_name
print(json.dumps(text))`;
    const text = String(await look(session, code));
    for (const path of [process.cwd(), "/home/", "/root"]) expect(text).not.toContain(path);
    // whole words only: a host that is called "vm" is not what /proc/vmstat reveals
    const words = text.split(/\W+/);
    for (const name of [hostname(), ...(userInfo().uid === 0 ? [] : [userInfo().username])]) {
      expect(/\W/.test(name) ? text : words).not.toContain(name);
    }
  });

  test("cannot be attacked through files that the host reads: only the workspace and /tmp are writable", async () => {
    const code = `
import os
def writable(directory):
    path = directory + "/written"
    try: os.close(os.open(path, os.O_CREAT | os.O_WRONLY)); os.remove(path); return True
    except OSError: return False
roots = ["/", "/etc", "/usr", "/usr/bin", "/usr/lib", "/bin", "/lib", "/.kernel", "/.kernel/codecell_kernel", "/.kernel/codecell_kernel/worker", "/run", "/var", "/opt",
         "/dev", "/dev/pts", "/proc", "/proc/sys", "/proc/sys/kernel", "/proc/self", "/workspace", "/tmp", "/dev/shm"]
print(json.dumps([path for path in roots if writable(path)]))`;
    expect(await look(session, code)).toEqual(["/workspace", "/tmp", "/dev/shm"]);
  });

  test("and settings of the Linux kernel cannot be changed", async () => {
    const code = `
import os
changed = []
for directory, _, names in os.walk("/proc/sys"):
    for name in names:
        try: fd = os.open(directory + "/" + name, os.O_WRONLY)
        except OSError: continue
        # engines cover a file with /dev/null, which takes everything and changes nothing
        if os.fstat(fd).st_rdev != os.stat("/dev/null").st_rdev: changed.append(name)
        os.close(fd)
for path in ("/proc/sysrq-trigger", "/proc/1/oom_score_adj", "/proc/1/uid_map", "/proc/self/uid_map", "/proc/1/attr/current"):
    try: os.close(os.open(path, os.O_WRONLY)); os.write(os.open(path, os.O_WRONLY), b"0"); changed.append(path)
    except OSError: pass
print(json.dumps(changed))`;
    expect(await look(session, code)).toEqual([]);
  });

  test("are not in the environment of bash either", async () => {
    const result = await run(session, "env; cat /proc/*/environ 2>/dev/null", { language: "bash" });
    expect(result.stdout).not.toContain(canary);
    expect(result.stdout).not.toContain("CODECELL_TEST_SECRET");
  });
});
