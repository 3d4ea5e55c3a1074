import { existsSync } from "node:fs";
import { chmod, chown, mkdir, mkdtemp, readdir, readFile, rm, rmdir, writeFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { homedir, hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { parsePolicy } from "../../src/policy/file/parse-policy.ts";
import type { PolicyInput } from "../../src/policy/schema.ts";
import type { LiveSession } from "../../src/sessions/live-session.ts";
import { LiveSessions } from "../../src/sessions/live-sessions.ts";
import { skipOrFail } from "../contract/required.ts";
import { cannotMount, mountMemory } from "../support/host-mounts.ts";
import { eventually, forging, look, marked, run, within } from "../support/process-cells.ts";
import { testedSrtRunner } from "../support/srt.ts";

const sample = testedSrtRunner();
const skips = skipOrFail("srt", await sample.probe({ isPatient: true }));
await sample[Symbol.asyncDispose]();

const secret = "s3cret-of-the-host";
const ordinaryUid = 54_321;

function openSrt(policy: PolicyInput = {}): Promise<LiveSessions> {
  return LiveSessions.open({ policy: parsePolicy(policy), runners: [testedSrtRunner()] });
}

describe.skipIf(skips)("a cell of the srt runner", () => {
  let codecell: LiveSessions;
  let session: LiveSession;
  beforeAll(async () => {
    process.env.CODECELL_CANARY = secret;
    codecell = await openSrt({ proc: { timeout: "10s", memory: "256MiB", disk: "64MiB", pids: 32 } });
    session = await codecell.openSession();
  });
  afterAll(() => codecell?.close());

  test("has a first process whose environment contains nothing of the host", async () => {
    const code = `
print(json.dumps(sorted(entry.split("=")[0] for entry in open("/proc/self/environ").read().split("\\0") if entry)))`;
    const names = (await look(session, code)) as string[];
    expect(names.filter((name) => !["PATH", "SHLVL", "PWD", "OLDPWD", "_"].includes(name))).toEqual([]);
  });

  test.skipIf(!existsSync("/etc/services"))(
    "knows names of ports and protocols from the files of the host",
    async () => {
      const code = `import socket\nprint(json.dumps([socket.getservbyname("https"), socket.getprotobyname("udp")]))`;
      expect(await look(session, code)).toEqual([443, 17]);
    },
  );

  test("is unprivileged: no capability, not root, no new privileges", async () => {
    const code = `
import os
status = dict(line.split(":\\t", 1) for line in open("/proc/self/status").read().splitlines())
print(json.dumps([os.getuid() != 0, int(status["CapEff"], 16), status["NoNewPrivs"], status["Seccomp"]]))`;
    expect(await look(session, code)).toEqual([true, 0, "1", "2"]);
  });

  test("sees no host file except programs, and cannot create any", async () => {
    const marker = await mkdtemp(join(tmpdir(), "codecell-srt-"));
    try {
      await chmod(marker, 0o777);
      const code = `
import os
def names(path):
    try: return os.listdir(path)
    except OSError: return []
print(json.dumps({
    "marker": os.path.exists(${JSON.stringify(marker)}), "home": names("/home") + names("/root"), "sys": names("/sys"),
    "passwd": os.path.exists("/etc/passwd"), "usr": os.access("/usr", os.W_OK), "root": os.access("/", os.W_OK)}))`;
      expect(await look(session, code)).toEqual({
        ...{ marker: false, home: [], sys: [], passwd: false, usr: false, root: false },
      });
      expect(await readdir(marker)).toEqual([]);
    } finally {
      await rm(marker, { recursive: true });
    }
  });

  test("does not see the directory that sandbox-runtime shares among its commands", async () => {
    const open = "/tmp/claude";
    const isOurs = !existsSync(open);
    await mkdir(open, { recursive: true });
    const planted = join(open, `codecell-test-${process.pid}`);
    await writeFile(planted, secret, { mode: 0o666 });
    try {
      await using fresh = await codecell.openSession();
      const code = `import os\nprint(json.dumps([os.path.exists(path) for path in ("${open}", "${planted}")]))`;
      expect(await look(fresh, code)).toEqual([false, false]);
      expect(await readFile(planted, "utf8")).toBe(secret);
    } finally {
      await rm(planted);
      if (isOurs) await rmdir(open);
    }
  });

  test.skipIf(process.getuid?.() !== 0)(
    "does not see into a directory that the host creates later below /",
    async () => {
      const late = await mkdtemp("/codecell-late-");
      try {
        await chmod(late, 0o755);
        await writeFile(join(late, "file"), secret);
        const code = `
def attempt(action):
    try: return action()
    except OSError as error: return type(error).__name__
import os
print(json.dumps([attempt(lambda: open("${late}/file").read()), attempt(lambda: os.listdir("${late}"))]))`;
        expect(await look(session, code)).toEqual(["PermissionError", "PermissionError"]);
      } finally {
        await rm(late, { recursive: true });
      }
    },
  );

  test("reaches no port and no named socket of the host", async () => {
    const server = createServer((socket) => socket.destroy());
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    try {
      const { port } = server.address() as AddressInfo;
      const code = `
import socket
def attempt(family, address):
    try:
        with socket.socket(family) as one:
            one.settimeout(2); one.connect(address)
        return "connected"
    except OSError as error: return type(error).__name__
print(json.dumps([attempt(socket.AF_INET, ("127.0.0.1", ${port})), attempt(socket.AF_UNIX, "/run/x")]))`;
      expect(await look(session, code)).not.toContain("connected");
    } finally {
      server.close();
    }
  });

  test("cannot kill, stop, trace or slow down its supervisor", async () => {
    await run(session, "kept = 'yes'");
    const code = `
import ctypes, os, signal
libc = ctypes.CDLL(None, use_errno=True)
through = []
def attempt(name, action):
    try: action()
    except OSError: return
    through.append(name)
for sig in (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM, signal.SIGUSR2):
    attempt("kill", lambda: os.kill(2, sig))
    attempt("killpg", lambda: os.killpg(2, sig))
attempt("priority", lambda: os.setpriority(os.PRIO_PROCESS, 2, 19))
attempt("scheduler", lambda: os.sched_setscheduler(2, os.SCHED_IDLE, os.sched_param(0)))
attempt("affinity", lambda: os.sched_setaffinity(0, range(os.cpu_count())))
attempt("memory", lambda: open("/proc/2/mem", "rb"))
if libc.ptrace(16, 2, 0, 0) == 0: through.append("ptrace")
if libc.syscall(319, b"x", 0) >= 0: through.append("memfd")
if libc.mq_open(b"/codecell", 0o102, 0o600, None) >= 0: through.append("message queue")
if libc.unshare(0x10000000) == 0: through.append("namespace")
print(json.dumps(through))`;
    expect(await within(10_000, look(session, code))).toEqual([]);
    expect(await run(session, "import os\nos.kill(-1, 9)")).toMatchObject({
      state: expect.stringMatching(/^(kept|recovered)$/),
    });
    expect(await run(session, "kept")).toMatchObject({ value: "'yes'" });
  });

  test("cannot make its supervisor stop itself by a forged copy with pid 0, which means every process", async () => {
    await using fresh = await codecell.openSession();
    const claim = `${forging}
def claim():
    while True:
        forge({"t": "parked", "pid": 0, "run": 1})
        time.sleep(0.0002)
threading.Thread(target=claim, daemon=True).start()`;
    await within(10_000, run(fresh, claim));
    await fresh.checkpoint("here");
    expect(await within(10_000, run(fresh, "40 + 2"))).toMatchObject({ status: "ok", value: "42" });
  });

  test("recovers from a crash while user code has threads, and can be forked", async () => {
    await using fresh = await codecell.openSession();
    await run(
      fresh,
      "import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()\nkept = 1",
    );
    expect(await run(fresh, "import os\nos._exit(3)")).toMatchObject({ status: "crashed", state: "recovered" });
    await fresh.checkpoint("here");
    await run(fresh, "kept = 2");
    await using fork = await fresh.fork("fork");
    await fresh.rollback("here");
    expect([(await run(fresh, "kept")).value, (await run(fork, "kept")).value]).toEqual(["1", "2"]);
  });

  test("cannot exceed the process limit", async () => {
    const code = `
import os, time
children = []
try:
    while len(children) < 100:
        pid = os.fork()
        if pid == 0: time.sleep(30); os._exit(0)
        children.append(pid)
except OSError: pass
print(json.dumps(len(children)))
for pid in children: os.kill(pid, 9)`;
    expect(await look(session, code)).toBeLessThan(32);
  });

  test("leaves no process running after a run, however it was started", async () => {
    const mark = `sleeper${process.pid}`;
    const code = `
import subprocess
subprocess.Popen(["/bin/sh", "-c", "sleep 300; : ${mark}"], start_new_session=True)
subprocess.Popen(["/bin/sh", "-c", "(sh -c 'sleep 300; : ${mark}' &)"], start_new_session=True).wait()`;
    expect(await run(session, code)).toMatchObject({ status: "ok" });
    expect(marked(mark)).toEqual([]);
  });

  test.each(["/dev/shm", "/tmp", "/home"])("that fills %s is stopped at the limit", async (place) => {
    await using fresh = await codecell.openSession();
    const code = `
for number in range(64):
    with open(f"${place}/{number}", "wb") as file:
        for _ in range(16): file.write(bytes(1 << 20))
print("all of it")`;
    const result = await within(20_000, run(fresh, code));
    expect(result.status).toMatch(/^(out_of_memory|crashed)$/);
    expect(result.stdout).toBe("");
    expect(await eventually(() => !fresh.isAlive)).toBe(true);
  });

  test("has a receipt that states what it could learn about the host", async () => {
    const notes = session.receipt.notes.join("\n");
    expect(notes).toContain("no UTS or cgroup namespace");
    expect(await look(session, "import socket\nprint(json.dumps(socket.gethostname()))")).toBe(hostname());
  });
});

describe.skipIf(skips)("host directories of the srt runner", () => {
  let base: string;
  let project: string;
  beforeEach(async () => {
    base = await mkdtemp(join(process.getuid?.() === 0 ? "/srv" : homedir(), "codecell-srt-"));
    await chmod(base, 0o755);
    project = join(base, "project [1]");
    for (const directory of [".git", "sub", ".aws"]) await mkdir(join(project, directory), { recursive: true });
    for (const path of [".env", ".git/config", "sub/.env"]) await writeFile(join(project, path), secret);
    await writeFile(join(project, "readme.txt"), "open");
    await writeFile(join(base, "beside.txt"), secret);
    if (process.getuid?.() === 0) {
      for (const entry of await readdir(project, { recursive: true }))
        await chown(join(project, entry), ordinaryUid, ordinaryUid);
      await chown(project, ordinaryUid, ordinaryUid);
    }
  });
  afterEach(() => rm(base, { recursive: true, force: true }));

  test("hide denied files, which cannot be read, moved or replaced", async () => {
    await using codecell = await openSrt({ fs: { workspace: project } });
    await using session = await codecell.openSession();
    const code = `
import os
def read(path):
    try: return open(path).read()
    except OSError as error: return error.errno
def attempt(action):
    try: action(); return True
    except OSError: return False
print(json.dumps({
    "read": [read(path) for path in (".env", ".git/config", "sub/.env", "../beside.txt", "readme.txt")],
    "moved": [attempt(lambda: os.rename(".git", "git")), attempt(lambda: os.rename(".env", "e")), attempt(lambda: os.remove("sub/.env"))],
    "written": [attempt(lambda: open(path, "w").write("x")) for path in (".env", ".git/config")],
    "listed": attempt(lambda: os.listdir(".aws")),
    "own": attempt(lambda: open("new.txt", "w").write("made"))}))`;
    const seen = (await look(session, code)) as { read: string[]; written: boolean[] };
    expect(seen).toMatchObject({
      read: [13, 13, 13, 2, "open"],
      listed: false,
      moved: [false, false, false],
      own: true,
    });
    for (const path of [".env", ".git/config", "sub/.env"])
      expect(await readFile(join(project, path), "utf8")).toBe(secret);
    expect(await readFile(join(project, "new.txt"), "utf8")).toBe("made");
    await session.close();
    const left = await readdir(project);
    expect(left.sort()).toEqual([".aws", ".env", ".git", "new.txt", "readme.txt", "sub"]);
  });

  test("are separate for two sessions with different policies in one process", async () => {
    const other = join(base, "other");
    await mkdir(other);
    await writeFile(join(other, "mine.txt"), "other");
    const mount = (path: string): PolicyInput => ({ fs: { mounts: [{ source: path, target: path }] } });
    await using first = await openSrt(mount(project));
    await using second = await openSrt(mount(other));
    await using one = await first.openSession();
    await using two = await second.openSession();
    const code = `
import os
print(json.dumps([os.path.exists(${JSON.stringify(`${project}/readme.txt`)}), os.path.exists(${JSON.stringify(`${other}/mine.txt`)}),
    os.access(${JSON.stringify(project)}, os.W_OK)]))`;
    expect(await look(one, code)).toEqual([true, false, false]);
    expect(await look(two, code)).toEqual([false, true, false]);
  });

  test.skipIf(cannotMount)("are read-only also in file systems that the host has mounted in them", async () => {
    await using _ = await mountMemory(join(project, "disk"), { "file.txt": "nested", ".env": secret });
    await using codecell = await openSrt({ fs: { mounts: [{ source: project, target: project }] } });
    await using session = await codecell.openSession();
    const code = `
import os
os.chdir(${JSON.stringify(project)})
def attempt(action):
    try: return action()
    except OSError: return None
print(json.dumps([open("disk/file.txt").read(), attempt(lambda: open("disk/.env").read()) or "",
    attempt(lambda: open("disk/file.txt", "w").write("x")), attempt(lambda: open("disk/new.txt", "w").write("x"))]))`;
    expect(await look(session, code)).toEqual(["nested", "", null, null]);
  });

  test("cannot be mounted at another path", async () => {
    const opening = openSrt({ fs: { mounts: [{ source: project, target: "/data" }] } });
    await expect(opening).rejects.toMatchObject({
      code: "policy_refused",
      message: expect.stringContaining("fs.mounts"),
    });
  });
});
