import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { compareIsolation, isolationLevels } from "../../../src/policy/isolation.ts";
import { hostProcesses, marked } from "../../support/process-cells.ts";
import {
  type Attack,
  type Attacked,
  expectCode,
  failing,
  filesWith,
  printed,
  pythonText,
  reading,
} from "./attacked.ts";
import { hostSecret } from "./place.ts";

/** A minimum above this runner is refused, and so is a policy that asks for one. */
const tooLittle: Attack = async ({ another, input, codecell }) => {
  const { isolation } = codecell.choice.runner;
  const stronger = isolationLevels.find((level) => compareIsolation(level, isolation) > 0);
  if (stronger === undefined) return;
  const wanted = another({ ...input, isolation: { ...input.isolation, minimum: stronger } });
  await expect(wanted).rejects.toThrow(/isolation\.minimum|weaker than|stronger than/);
};

/** The namespaces of the cell are none of ours. */
export function ownNamespaces(...kinds: string[]): Attack {
  return async (attacked) => {
    await tooLittle(attacked);
    const code = `print(json.dumps([os.readlink("/proc/self/ns/" + kind) for kind in ${JSON.stringify(kinds)}]))`;
    const theirs = await printed<string[]>(await attacked.session(), code);
    for (const [index, kind] of kinds.entries()) {
      expect(theirs[index]).toMatch(/^\w+:\[\d+\]$/);
      expect(theirs[index]).not.toBe(readlinkSync(`/proc/self/ns/${kind}`));
    }
  };
}

export const ownOsKernel: Attack = async (attacked) => {
  await tooLittle(attacked);
  const theirs = await printed(await attacked.session(), `print(json.dumps(open("/proc/version").read()))`);
  expect(theirs).not.toBe(readFileSync("/proc/version", "utf8"));
};

/** An interpreter in WebAssembly: no system call of the host, nothing of Node in reach of JavaScript. */
export const emptyContext: Attack = async (attacked) => {
  await tooLittle(attacked);
  const code = `
found = []
try:
    import js
    found = [name for name in ("process", "require", "fetch", "WebSocket", "XMLHttpRequest", "Deno") if hasattr(js, name)]
except ImportError: pass
print(json.dumps([sys.platform, found]))`;
  expect(await printed(await attacked.session(), code)).toEqual(["emscripten", []]);
  expect(hostProcesses().some(({ status }) => Number(status.PPid) === process.pid)).toBe(true);
};

const writeHere = `open("made-here.txt", "w").write("from " + "the cell")`; // the audit has the code, too

/** The session's directory is its own, and nothing beside it is in reach. */
export const ownDirectory: Attack = async ({ fresh, stateDir, place }) => {
  const session = await fresh();
  await session.run(writeHere);
  const made = await filesWith(join(stateDir, "workspaces"), "from the cell");
  expect(made).toHaveLength(1);
  const other = await fresh();
  const sights = await printed<string[]>(
    other,
    reading("made-here.txt", made[0] ?? "", place.path("outside/secret.txt")),
  );
  for (const sight of sights) expect(sight).toMatch(/^(FileNotFoundError|PermissionError|NotADirectoryError)$/);
  await session.close();
  await other.close();
  expect(existsSync(made[0] ?? "")).toBe(false);
};

/** The files are in the cell's memory: neither the host nor another session sees them, and they end with the cell. */
export const privateTmpfs: Attack = async ({ fresh, place }) => {
  const session = await fresh();
  await session.run(writeHere);
  const code = `
rows = [line.split() for line in open("/proc/self/mountinfo")]
print(json.dumps([row[row.index("-") + 1] for row in rows if row[4] == os.getcwd()]))`;
  expect(await printed(session, code)).toEqual(["tmpfs"]);
  expect(await filesWith(place.root, "from the cell")).toEqual([]);
  await session.close();
  const other = await fresh();
  const sights = await printed<string[]>(other, reading("made-here.txt", place.path("outside/secret.txt")));
  for (const sight of sights) expect(sight).toMatch(/^(FileNotFoundError|PermissionError|NotADirectoryError)$/);
  await other.close();
};

/** The directory that the policy names, and not the one around it. */
export const namedDirectory: Attack = async ({ session, place }) => {
  const cell = await session();
  await cell.run(writeHere);
  expect(readFileSync(place.path("work/made-here.txt"), "utf8")).toBe("from the cell");
  const [around, outside] = await printed<string[]>(
    cell,
    reading("../outside/secret.txt", place.path("outside/secret.txt")),
  );
  expect([around, outside]).not.toContain(hostSecret);
};

/** No path of the host leads anywhere, and what is written reaches no disk. */
export const onlyMemory: Attack = async ({ session, place, stateDir, policy, input, another }) => {
  const cell = await session();
  await cell.run(writeHere);
  expect(await filesWith(stateDir, "from the cell")).toEqual([]);
  const paths = ["outside/secret.txt", "readable/.env", "deps/module.py"].map((name) => place.path(name));
  const sights = await printed<string[]>(cell, reading(...paths, "/deps/module.py", "/etc/passwd", "/proc/1/environ"));
  for (const sight of sights) expect(sight).toMatch(/Error$/);
  expect(policy.fs.mounts).toEqual([]);
  const mounts = [{ source: place.path("readable"), target: "/data" }];
  for (const fs of [{ workspace: place.path("work") }, { deps: place.path("deps") }, { mounts }]) {
    await expectCode(another({ ...input, fs }), "policy_refused", Object.keys(fs)[0]);
  }
};

export const nothingMounted: Attack = async ({ session, place }) => {
  const paths = [
    place.path("outside/secret.txt"),
    place.path("readable/plain.txt"),
    "/deps/module.py",
    "/data/plain.txt",
  ];
  const sights = await printed<string[]>(await session(), reading(...paths));
  for (const sight of sights) expect(sight).toMatch(/^(FileNotFoundError|PermissionError|NotADirectoryError)$/);
};

/** Python that tries to change a file in every way there is, and says which of them got through. */
function changing(path: string): string {
  return `
path = ${pythonText(path)}
def append():
    with open(path, "a") as file: file.write("x")
through = []
for name, way in {"append": append, "remove": lambda: os.remove(path), "rename": lambda: os.rename(path, path + "2"),
                  "mode": lambda: os.chmod(path, 0o777), "beside": lambda: open(path + ".new", "w")}.items():
    try: way(); through.append(name)
    except OSError: pass
print(json.dumps(through))`;
}

export const readOnlyDeps: Attack = async ({ session, place }) => {
  const cell = await session();
  expect(await printed(cell, reading("/deps/module.py"))).toEqual(["answer = 42\n"]);
  expect(await printed(cell, changing("/deps/module.py"))).toEqual([]);
  expect(readdirSync(place.path("deps"))).toEqual(["module.py"]);
};

/** With `fs.deps` there is a /deps, but nothing is imported from it. */
export const nothingInstalled: Attack = async ({ session }) => {
  expect(await printed(await session(), `print(json.dumps("/deps" in sys.path))`)).toBe(false);
};

/** Under `/data` read-only and `/out` read-write, or at their own places where a runner maps no paths. */
export function boundMounts({ withOptions }: { withOptions: boolean }): Attack {
  return async ({ session, place, policy }) => {
    const cell = await session();
    const [readable = "", writable = ""] = policy.fs.mounts.map(({ target }) => target);
    expect(await printed(cell, reading(`${readable}/plain.txt`))).toEqual(["plain"]);
    expect(await printed(cell, changing(`${readable}/plain.txt`))).toEqual([]);
    await cell.run(`open(${pythonText(`${writable}/out.txt`)}, "w").write("out")`);
    expect(readFileSync(place.path("writable/out.txt"), "utf8")).toBe("out");
    expect(await printed(cell, reading(`${readable}/way-out.txt`))).not.toContain(hostSecret);
    if (!withOptions) return;
    const code = `
rows = [line.split() for line in open("/proc/self/mountinfo")]
print(json.dumps([[row[4], row[5].split(",")] for row in rows if row[4] in ${JSON.stringify([readable, writable])}]))`;
    const found = await printed<[string, string[]][]>(cell, code);
    // sandbox-runtime mounts a writable directory twice: once to be read, once to be written
    expect(new Set(found.map(([target]) => target))).toEqual(new Set([readable, writable]));
    for (const [, options] of found) expect(options).toEqual(expect.arrayContaining(["nosuid", "nodev"]));
  };
}

export const hiddenEntries: Attack = async ({ session, policy }) => {
  const [readable = ""] = policy.fs.mounts.map(({ target }) => target);
  const names = [".env", "own.classified", "plain.txt"];
  const sights = await printed<string[]>(await session(), reading(...names.map((name) => `${readable}/${name}`)));
  expect(sights[2]).toBe("plain");
  for (const sight of sights.slice(0, 2)) expect(sight).not.toBe(hostSecret);
  // an empty answer would be a wrong one
  const outcome = `
outcomes = []
for name in ${JSON.stringify(names.slice(0, 2))}:
    try: open(${JSON.stringify(readable)} + "/" + name).read(); outcomes.append("read")
    except OSError as error: outcomes.append(type(error).__name__)
print(json.dumps(outcomes))`;
  expect(await printed<string[]>(await session(), outcome)).toEqual(["PermissionError", "PermissionError"]);
};

export const checkedLoads: Attack = async ({ session, place, policy }) => {
  const cell = await session();
  const isGranted = policy.fs.load.length > 0;
  for (const name of ["outside/secret.txt", "readable/.env", "readable/way-out.txt"]) {
    await expectCode(cell.load(place.path(name), "stolen"), "file_refused");
  }
  if (isGranted) {
    await cell.load(place.path("readable/plain.txt"), "plain");
    expect(await cell.get("plain")).toBe("plain");
  } else await expectCode(cell.load(place.path("readable/plain.txt"), "plain"), "file_refused");
  expect(await printed(cell, `print(json.dumps("stolen" in globals()))`)).toBe(false);
};

export const endedInTime: Attack = async ({ session }) => {
  const cell = await session();
  for (const code of [
    "while True: pass",
    "def spin():\n    while True: pass\nwhile True:\n    try: spin()\n    except BaseException: pass",
  ]) {
    const result = await failing(cell, code);
    expect(result.status).toBe("timeout");
    expect(result.durationMs).toBeLessThan(20_000);
  }
};

/** What children of the cell get of the processors while they all want more than there is, by the OS's own count. */
export const processorShare: Attack = async ({ session, policy }) => {
  const code = `
import time
start, children = time.monotonic(), []
for _ in range(4):
    pid = os.fork()
    if pid == 0:
        while time.monotonic() < start + 2: pass
        os._exit(0)
    children.append(pid)
before = os.times()
for pid in children: os.waitpid(pid, 0)
after = os.times()
print(json.dumps(1000 * (after.children_user + after.children_system - before.children_user - before.children_system)))`;
  const cell = await session();
  const [before, start] = [(await cell.usage()).cpuMs, performance.now()];
  const childrenMs = await printed<number>(cell, code);
  const after = (await cell.usage()).cpuMs;
  // nobody outside a pod counts for the host: there the OS tells the program
  const spentMs = before === undefined || after === undefined ? childrenMs : after - before;
  expect(spentMs).toBeGreaterThan(100);
  // long enough that one quota period more does not matter, and that a busy machine does not hide a missing limit
  expect(spentMs).toBeLessThan((performance.now() - start) * policy.proc.cpus + 150);
};

export const pinnedCores: Attack = async ({ session, policy }) => {
  const code = `
before = len(os.sched_getaffinity(0))
try: os.sched_setaffinity(0, range(os.cpu_count()))
except OSError: pass
print(json.dumps([before, len(os.sched_getaffinity(0))]))`;
  for (const cores of await printed<number[]>(await session(), code)) {
    expect(cores).toBeLessThanOrEqual(policy.proc.cpus);
  }
};

const startingMore = `
def thread():
    import threading
    threading.Thread(target=print).start()
def spawn():
    import subprocess
    subprocess.Popen(["true"])
through = []
for name, way in {"thread": thread, "fork": lambda: os.fork(), "spawn": spawn, "system": lambda: os.system("true") == 0 or 1 / 0}.items():
    try: way(); through.append(name)
    except (OSError, RuntimeError, AttributeError, ArithmeticError): pass
print(json.dumps(through))`;

export const nothingStarts: Attack = async ({ session }) => {
  expect(await printed(await session(), startingMore)).toEqual([]);
};

/** A fraction of a core is refused where nothing could hold it. */
export const oneThread: Attack = async (attacked) => {
  await nothingStarts(attacked);
  const { input, another } = attacked;
  const less = { ...input, proc: { ...input.proc, cpus: 0.5 } };
  await expectCode(another(less), "policy_refused", "proc.cpus");
};

const hogging = "hog = []\nwhile True: hog.append(bytearray(b'x') * (4 << 20))";

/**
 * The limit is for all processes together: none of these is over it by itself. Each keeps its share until all have theirs or
 * are dead, and for a second more, in which a limit that is checked from time to time must be noticed.
 */
const hoggingTogether = `
import time
size = LIMIT * 2 // 5
children = []
(ready, filled), (go, told) = os.pipe(), os.pipe()
for _ in range(6):
    pid = os.fork()
    if pid == 0:
        os.close(told)
        hog = bytearray(b"x") * size
        os.close(filled)
        os.read(go, 1)
        os._exit(0)
    children.append(pid)
os.close(filled)
os.read(ready, 1)
time.sleep(1)
os.close(told)
print(json.dumps([os.waitpid(pid, 0)[1] for pid in children].count(0)))`;

/**
 * Both attacks are ended for their memory. `isCounted`: the OS's own count never went over the limit; `mayRaise`: a limit of
 * the process raises MemoryError before that.
 */
export function memoryHeld({ isCounted, mayRaise = false }: { isCounted: boolean; mayRaise?: boolean }): Attack {
  return async ({ fresh, policy, row }) => {
    const limit = policy.proc.memoryBytes;
    const files = Number(/together with (\d+)MiB/.exec(row.how)?.[1] ?? 0) * 2 ** 20;
    const session = await fresh();
    const alone = await failing(session, hogging);
    if (!mayRaise || alone.error?.name !== "MemoryError") expect(alone).toMatchObject({ status: "out_of_memory" });
    await session.reset();
    const code = hoggingTogether.replace("LIMIT", String(limit));
    const together = await session.run(`import json, os\n${code}`);
    if (together.status === "ok")
      expect(Number(together.stdout)).toBeLessThanOrEqual((limit + files) / ((limit * 2) / 5));
    else expect(together.status).toBe("out_of_memory");
    if (isCounted) {
      const { peakMemoryBytes = Number.NaN, oomKills } = await session.usage();
      expect(peakMemoryBytes).toBeLessThanOrEqual(limit + files);
      expect(oomKills).toBeGreaterThan(0);
    }
    await session.close();
  };
}

export const heapHeld: Attack = async ({ session }) => {
  const cell = await session();
  const result = await failing(cell, hogging);
  expect(result.status === "out_of_memory" || result.error?.name === "MemoryError").toBe(true);
  await cell.reset();
};

export const processesCounted: Attack = async ({ session, policy, row }) => {
  const code = `
import threading
children, end = [], threading.Event()
# small programs: copies of the interpreter would reach the memory limit first
try:
    while len(children) < 200: children.append(os.posix_spawn("/bin/sleep", ["sleep", "30"], {}))
except OSError: pass
threads = 0
try:
    while threads < 200: threading.Thread(target=end.wait).start(); threads += 1
except RuntimeError: pass
end.set()
for pid in children: os.kill(pid, 9)
for pid in children: os.waitpid(pid, 0)
print(json.dumps(len(children) + threads))`;
  const started = await printed<number>(await session(), code);
  expect(started).toBeGreaterThan(0);
  const own = Number(/together with (\d+) for codecell's own/.exec(row.how)?.[1] ?? 0);
  expect(started).toBeLessThan(policy.proc.pids + own);
};

export const filesCounted: Attack = async ({ session, policy }) => {
  const code = `
held = []
try:
    while len(held) < 4096: held.append(open("/dev/null"))
except OSError: pass
try:
    import resource
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
    held.extend(open("/dev/null") for _ in range(${policy.proc.files}))
except (ImportError, OSError, ValueError): pass
count = len(held)
for one in held: one.close()
print(json.dumps(count))`;
  const opened = await printed<number>(await session(), code);
  expect(opened).toBeGreaterThan(0);
  expect(opened).toBeLessThan(policy.proc.files);
};

/** One file over the limit fails; many small ones end the run, and the result says why. */
export function diskWatched({ deleted = false, elsewhere = false }): Attack {
  return async ({ fresh, policy }) => {
    const limit = policy.proc.diskBytes;
    const session = await fresh();
    // without writing: a file as large as the limit may end the cell before the write fails
    const big = await failing(session, `with open("big", "wb") as file: file.truncate(${limit} + 1)`);
    expect(big.error?.name).toBe("OSError");
    await session.run("import os\nos.remove('big')");
    const parts = (directory: string) =>
      `import time\nfor n in range(8):\n    with open(f"${directory}part-{n}", "wb") as file: file.write(bytes(${limit} // 4))\ntime.sleep(15)`;
    const many = await failing(session, parts(""));
    expect(many.notes.join()).toContain("proc.disk");
    await session.close();
    if (deleted) {
      const hiding = await fresh();
      const unnamed = `import os, time
for _ in range(8): os.write(os.open(".", os.O_TMPFILE | os.O_RDWR), bytes(${limit} // 4))
time.sleep(15)`;
      expect((await failing(hiding, unnamed)).notes.join()).toContain("proc.disk");
      await hiding.close();
    }
    if (!elsewhere) return;
    const second = await fresh();
    expect(await failing(second, parts("/tmp/"))).toMatchObject({ status: "out_of_memory" });
    await second.close();
  };
}

/** The same attack, and one that shows what the row says of writable mounts. Leaves no files in directories of the host. */
export function alsoUncounted(attack: Attack): Attack {
  return async (attacked) => {
    const { fresh, policy } = attacked;
    const target = policy.fs.mounts.find(({ mode }) => mode !== "ro")?.target ?? "";
    const session = await fresh();
    const code = `
import time
paths = [os.path.join(${pythonText(target)}, f"part-{n}") for n in range(4)]
for path in paths:
    with open(path, "wb") as file: file.write(bytes(${policy.proc.diskBytes} // 2))
time.sleep(1)
for path in paths: os.remove(path)
print(json.dumps(len(paths)))`;
    expect(await printed(session, code)).toBe(4);
    await session.close();
    await attack(attacked);
    const { workspace } = policy.fs;
    if (workspace === undefined) return;
    for (const name of await readdir(workspace)) if (/^(part-|big)/.test(name)) await rm(join(workspace, name));
  };
}

/** No file, and not all of them together, can be larger than the tmpfs; nor can there be more of them than inodes. */
export function tmpfsFull({ countsFiles }: { countsFiles: boolean }): Attack {
  return async ({ fresh, policy }) => {
    const limit = policy.proc.diskBytes;
    const session = await fresh();
    const code = `
stored, made = 0, 0
try:
    for n in range(16):
        with open(f"part-{n}", "wb", buffering=0) as file: stored += file.write(bytes(${limit} // 8))
except OSError: pass
for name in os.listdir(): os.remove(name)
try:
    while made < ${countsFiles ? 20_000 : 0}: os.close(os.open(f"empty-{made}", os.O_CREAT)); made += 1
except OSError: pass
print(json.dumps([stored, made]))`;
    const [stored, made] = await printed<number[]>(session, code);
    expect(stored).toBeGreaterThan(limit / 2);
    expect(stored).toBeLessThanOrEqual(limit);
    if (countsFiles) expect(made).toBeLessThanOrEqual(16_384);
    await session.close();
  };
}

/** Content is limited by the OS. Entries without content are counted by the supervisor, which ends the run. */
export const podDiskFull: Attack = async (attacked) => {
  await tmpfsFull({ countsFiles: false })(attacked);
  const session = await attacked.fresh();
  const most = attacked.policy.proc.diskBytes / 4_096;
  const make = (count: number) => `import os, time
for n in range(${count}): os.close(os.open(f"empty-{n}", os.O_CREAT))
time.sleep(${count > most ? 15 : 0.2})
for name in os.listdir(): os.remove(name)`;
  expect((await session.run(make(most / 2))).status).toBe("ok");
  expect((await session.run(make(most * 2))).status).toBe("out_of_memory");
  await session.close();
};

/** Named, deleted and nameless files all count, a write beyond the limit fails, and the session goes on. */
export const diskFull: Attack = async ({ fresh, policy }) => {
  const limit = policy.proc.diskBytes;
  const session = await fresh();
  const code = `
import errno
def fill(open_next):
    stored, failed, files = 0, None, []
    try:
        for n in range(64):
            files.append(open_next(n))
            for _ in range(4): stored += os.write(files[-1], bytes(${limit} // 64))
    except OSError as error: failed = errno.errorcode[error.errno]
    for file in files: os.close(file)
    return [stored, failed]
def deleted(n):
    file = os.open(f"gone-{n}", os.O_CREAT | os.O_RDWR)
    os.remove(f"gone-{n}")
    return file
named = fill(lambda n: os.open(f"part-{n}", os.O_CREAT | os.O_RDWR))
for name in os.listdir("."): os.remove(name)
answers = [named, fill(deleted), fill(lambda n: os.open(".", os.O_TMPFILE | os.O_RDWR))]
made = 0
try:
    while made < 70_000: os.close(os.open(f"empty-{made}", os.O_CREAT)); made += 1
except OSError as error: answers.append([made, errno.errorcode[error.errno]])
for name in os.listdir("."): os.remove(name)
print(json.dumps(answers))`;
  const answers = await printed<[number, string][]>(session, code);
  expect(answers.map(([, failed]) => failed)).toEqual(["ENOSPC", "ENOSPC", "ENOSPC", "ENOSPC"]);
  for (const [stored] of answers.slice(0, 3)) {
    expect(stored).toBeLessThanOrEqual(limit);
    expect(stored).toBeGreaterThan(limit * 0.9);
  }
  expect((await session.run("open('after', 'w').write('x')")).status).toBe("ok");
  await session.close();
};

/** The row refers to another one of the same receipt, which is attacked. */
export const namesAnother: Attack = async ({ session, row }) => {
  const { rules } = await (await session()).receipt();
  const other = rules.find(({ rule }) => row.how.includes(`row of ${rule} `));
  expect(other?.how.length).toBeGreaterThan(0);
};

export const diskQuota: Attack = async ({ fresh, policy }) => {
  const limit = policy.proc.diskBytes;
  const session = await fresh();
  const code = `
stored = 0
try:
    for n in range(16):
        with open(("/tmp/" if n % 2 else "") + f"part-{n}", "wb") as file:
            for _ in range(4): stored += file.write(bytes(${limit} // 16)); file.flush()
except OSError: pass
print(json.dumps(stored))`;
  const stored = await printed<number>(session, code);
  expect(stored).toBeGreaterThan(limit / 2);
  expect(stored).toBeLessThanOrEqual(limit);
  await session.close();
};

export const outputCut: Attack = async ({ session, policy }) => {
  const limit = policy.proc.outputBytes;
  const cell = await session();
  const more = await cell.run(`print("first" + "x" * ${limit * 3 - 9} + "last")`);
  expect(more).toMatchObject({ status: "ok", truncated: true, stdoutBytes: limit * 3 + 1 });
  expect(more.stdout.length).toBeLessThanOrEqual(limit);
  expect(more.stdout).toMatch(/^firstx+\n\[\.\.\. [\d,]+ bytes left out \.\.\.\]\nx+last\n$/);
  const runaway = await cell.run('text = "x" * 100_000\nwhile True: print(text)');
  expect(runaway).toMatchObject({ status: "output_limit", truncated: true });
  expect(runaway.stdout.length).toBeLessThanOrEqual(limit);
};

const leaving = (mark: string) => `
import subprocess
left = subprocess.Popen(["sh", "-c", "sleep 60; : ${mark}"], start_new_session=True)
print(json.dumps(left.pid))`;
const isThere = "print(json.dumps(left.poll() is None))";

function newMark(): string {
  return `left-${Math.random().toString(36).slice(2)}`;
}

export const nothingLeft: Attack = async ({ session }) => {
  const [cell, mark] = [await session(), newMark()];
  await printed(cell, leaving(mark));
  expect(await printed(cell, isThere)).toBe(false);
  expect(marked(mark)).toEqual([]);
};

export const leftUntilClose: Attack = async ({ fresh }) => {
  const [session, mark] = [await fresh(), newMark()];
  await printed(session, leaving(mark));
  expect(await printed(session, isThere)).toBe(true);
  await session.close();
  expect(marked(mark)).toEqual([]);
};

const librarySettings = ["MPLBACKEND", "MPLCONFIGDIR", "OPENBLAS_NUM_THREADS", "XDG_CACHE_HOME"];
/** How libraries and programs find the proxy, and whom they trust behind it. */
const proxySettings = [
  ...["http_proxy", "https_proxy", "all_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"],
  ...["NODE_USE_ENV_PROXY", "PIP_RETRIES", "PIP_DISABLE_PIP_VERSION_CHECK", "npm_config_update_notifier"],
  ...["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "PIP_CERT", "GIT_SSL_CAINFO"],
];

export function onlyTheseVariables(...names: string[]): Attack {
  return async ({ session, policy, codecell }: Attacked) => {
    const code = `
texts = []
for path in ("/proc/self/environ", "/proc/1/environ"):
    try: texts.append(open(path, errors="replace").read())
    except OSError: pass
print(json.dumps([dict(os.environ), texts]))`;
    const [variables, texts] = await printed<[Record<string, string>, string[]]>(await session(), code);
    expect(variables).toMatchObject(policy.env);
    const { enabled, secrets } = policy.net;
    const network = enabled ? [...proxySettings, ...Object.keys(secrets)] : [];
    const allowed = [...Object.keys(policy.env), ...names, ...librarySettings, ...network];
    expect(Object.keys(variables).filter((name) => !allowed.includes(name))).toEqual([]);
    expect(JSON.stringify([variables, texts])).not.toContain(hostSecret);
    const inherited = texts.flatMap((text) => text.split("\0")).map((variable) => variable.split("=")[0] ?? "");
    // a shell needs SHLVL, and engines and runtimes of containers set a name or two for their first process
    const common = [...allowed, "", "SHLVL", "PWD", "OLDPWD", "_", "HOSTNAME", "TERM", "container"];
    const ofTheHost = inherited.filter((name) => !common.includes(name) && process.env[name] !== undefined);
    expect(ofTheHost).toEqual([]);
    expect(codecell.policy.env).toEqual(policy.env);
  };
}

const crash = "import os\nx = 'changed'\nos._exit(9)";

export const comesBack: Attack = async ({ fresh }) => {
  const session = await fresh();
  await session.run("x = 'kept'");
  expect(await failing(session, crash)).toMatchObject({ status: "crashed", state: "recovered" });
  expect(await session.run("x")).toMatchObject({ value: "'kept'" });
  await session.close();
};

export const startsAfresh: Attack = async ({ fresh }) => {
  const session = await fresh();
  await session.run("x = 'gone'");
  expect(await failing(session, crash)).toMatchObject({ status: "crashed", state: "lost" });
  expect(await session.run("'x' in globals()")).toMatchObject({ value: "False" });
  await session.close();
};

export const checkpointsCounted: Attack = async ({ fresh, policy }) => {
  const session = await fresh();
  const most = policy.session.checkpoints;
  for (let n = 0; n < most; n++) await session.checkpoint(`point-${n}`);
  await expectCode(session.checkpoint("one-more"), "too_large", "session.checkpoints");
  expect(session.checkpoints).toHaveLength(most);
  await session.close();
};

export const noCheckpoints: Attack = async ({ session }) => {
  const cell = await session();
  await expectCode(cell.checkpoint("one"), "not_supported");
  expect(cell.checkpoints).toEqual([]);
};

export const nothingToUndo: Attack = async ({ session }) => {
  const cell = await session();
  await cell.run("x = 1");
  await expectCode(cell.undo(), "not_supported");
};

export const lastRunsUndone: Attack = async ({ fresh, policy }) => {
  const session = await fresh();
  const most = policy.session.undo;
  for (let n = 0; n <= most + 1; n++) await session.run(`x = ${n}`);
  for (let n = most; n > 0; n--) {
    await session.undo();
    expect(await session.get("x")).toBe(n);
  }
  await expectCode(session.undo(), "nothing_to_undo");
  expect(session.checkpoints).toEqual([]);
  await session.close();
};

const looking = `print(json.dumps("colorsys" in sys.modules))`;

export const preloaded: Attack = async ({ fresh, policy, input, another }) => {
  expect(policy.kernel.preload).toEqual(["colorsys"]);
  const session = await fresh();
  expect(await printed(session, looking)).toBe(true);
  await session.close();
  const missing = { ...input, kernel: { ...input.kernel, preload: ["no_such_module_here"] } };
  await expect(openedSession(another(missing))).rejects.toThrow(/no_such_module_here/);
};

async function openedSession(opening: ReturnType<Attacked["another"]>): Promise<void> {
  await using codecell = await opening;
  await codecell.session();
}

export const notPreloaded: Attack = async ({ fresh }) => {
  const session = await fresh();
  expect(await printed(session, looking)).toBe(false);
  await session.close();
};

/** The interpreter is the one that the policy names, and code can change neither it nor its library. */
export const readOnlyPython: Attack = async ({ session, policy }) => {
  const cell = await session();
  const [version, executable, library] = await printed<string[]>(
    cell,
    "print(json.dumps([sys.version, os.path.realpath(sys.executable), os.__file__]))",
  );
  for (const path of [executable, library]) expect(await printed(cell, changing(path ?? ""))).toEqual([]);
  if (policy.kernel.python === undefined) return;
  const asked = execFileSync(policy.kernel.python, ["-c", "import sys; print(sys.version)"], { encoding: "utf8" });
  expect(version).toBe(asked.trimEnd());
};

export const runtimePython: Attack = async ({ session, input, another }) => {
  expect(await printed(await session(), "print(json.dumps(sys.platform))")).toBe("emscripten");
  const named = { ...input, kernel: { ...input.kernel, python: "/usr/bin/python3" } };
  await expectCode(another(named), "policy_refused", "kernel.python");
};

export const imagePython: Attack = async ({ session, input, another }) => {
  expect(await printed(await session(), changing("/usr/lib/os-release"))).toEqual([]);
  const named = { ...input, kernel: { ...input.kernel, python: "/usr/bin/python3" } };
  await expectCode(another(named), "policy_refused", "kernel.python");
};

export const imagesRefused: Attack = async ({ input, another }) => {
  const named = { ...input, kernel: { ...input.kernel, image: "python:3.12-slim" } };
  await expectCode(another(named), "policy_refused", "kernel.image");
};

export const readOnlyImage: Attack = async ({ session, input, another }) => {
  const code = `
through = []
for path in ("/usr/planted", "/planted", "/etc/planted", "/root/planted"):
    try: open(path, "w"); through.append(path)
    except OSError: pass
print(json.dumps(through))`;
  expect(await printed(await session(), code)).toEqual([]);
  const named = { ...input, kernel: { ...input.kernel, image: "codecell-no-such-image:1" } };
  await expectCode(another(named), "policy_refused", "kernel.image");
};
