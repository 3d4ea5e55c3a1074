import { spawn } from "node:child_process";
import { chmod, chown, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { makeClosedEntries } from "../../src/runners/linux/mounts/closed-entries.ts";
import { findHostRoot } from "../../src/runners/linux/mounts/host-root.ts";
import { findPython } from "../../src/runners/linux/python/python.ts";
import { seccompFilter } from "../../src/runners/linux/seccomp/seccomp.ts";
import { privateUids } from "../../src/runners/linux/users/private-uid.ts";
import type { JailPaths } from "../../src/runners/process/bubblewrap.ts";
import {
  directArguments,
  filterDescriptor,
  stagePath,
  templateArguments,
} from "../../src/runners/process/bubblewrap.ts";
import { identityFiles } from "../../src/runners/process/identity-files.ts";
import { probeBubblewrap, trialMs } from "../../src/runners/process/probe.ts";
import { findProcMasks } from "../../src/runners/process/proc-masks.ts";

const probe = await probeBubblewrap(trialMs.patient);
const arch = process.arch === "arm64" ? "arm64" : "x64";
const isRequired = (process.env.REQUIRE_RUNNERS ?? "").split(",").includes("process");
if (!probe.available && isRequired) throw new Error(`${probe.reason}; ${probe.hint}`);
const skipReason = probe.available ? "" : ` (${probe.reason}; ${probe.hint})`;

let base: string;
let jail: Omit<JailPaths, "command">;
let uid: number | undefined;

beforeAll(async () => {
  if (!probe.available) return;
  base = await mkdtemp(join(tmpdir(), "jail-live-"));
  await chmod(base, 0o755);
  for (const name of ["etc", "kernel", "empty", "data", "data/.ssh", "sockets"]) await mkdir(join(base, name));
  for (const [name, text] of Object.entries(identityFiles)) await writeFile(join(base, "etc", name), text);
  for (const name of ["empty-file", "data/open.txt", "data/.env", "data/.ssh/id"])
    await writeFile(join(base, name), name);
  await writeFile(join(base, "empty-file"), "");
  if (process.getuid?.() === 0) uid = privateUids(await readFile("/proc/self/uid_map", "utf8"))?.shared.first;
  if (uid !== undefined) await chown(join(base, "sockets"), uid, uid);
  jail = {
    tag: "jaillivetest",
    hostRoot: await findHostRoot(),
    python: await findPython(undefined, { forOtherUid: uid !== undefined }),
    identityDirectory: join(base, "etc"),
    kernelDirectory: join(base, "kernel"),
    emptyFile: join(base, "empty-file"),
    emptyDirectory: join(base, "empty"),
    ...(await makeClosedEntries(base)),
  };
});
afterAll(async () => {
  if (base) await rm(base, { recursive: true, force: true });
});

const look = `
import json, os, pwd, socket
def read(path):
    try: return open(path).read()
    except OSError as error: return type(error).__name__
def write(path):
    try: open(path, "w").close(); return "written"
    except OSError as error: return error.strerror
status = dict(line.split(":\\t", 1) for line in read("/proc/self/status").splitlines() if ":\\t" in line)
facts = {"pid": os.getpid(), "environment": sorted(os.environ), "user": pwd.getpwuid(os.getuid()).pw_name,
  "host": socket.gethostname(), "localhost": socket.gethostbyname("localhost"),
  "capabilities": sorted({status[name].strip() for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")}),
  "privileges": status["NoNewPrivs"].strip(), "seccomp": status["Seccomp"].strip(),
  "root": sorted(os.listdir("/")), "etc": sorted(os.listdir("/etc"))}`;

describe.skipIf(!probe.available)(`bubblewrap on this machine${skipReason}`, () => {
  test.skipIf(!(probe.available && probe.layouts.direct))("isolates a direct cell", async () => {
    const questions = `
for name, path in {"open": "/deps/open.txt", "env": "/deps/.env", "keys": "/proc/keys", "boot": "/proc/cmdline"}.items(): facts[name] = read(path)
try: facts["ssh"] = os.listdir("/deps/.ssh")
except OSError as error: facts["ssh"] = type(error).__name__
facts["writes"] = {path: write(path) for path in ("/workspace/x", "/tmp/x", "/dev/shm/x", "/x", "/usr/x", "/deps/x", "/deps/.env", "/dev/x", "/etc/x")}
facts["workspace"] = os.statvfs("/workspace").f_blocks * os.statvfs("/workspace").f_frsize`;
    const facts = await ask("cell", questions, (command) =>
      directArguments({
        ...jail,
        command,
        workspace: { kind: "private", sizeBytes: 2 ** 20 },
        mounts: [{ source: join(base, "data"), target: "/deps", mode: "ro", kind: "directory" }],
        denied: [
          { path: "/deps/.env", kind: "file" },
          { path: "/deps/.ssh", kind: "directory" },
        ],
        masks: masks,
        tmpBytes: 2 ** 20,
        sharedMemoryBytes: 2 ** 20,
      }),
    );
    expectJailed(facts);
    expect(facts).toMatchObject({ open: "data/open.txt", keys: "", boot: "", workspace: 2 ** 20 });
    expect(facts).toMatchObject({ env: "PermissionError", ssh: "PermissionError" });
    const refused = "Read-only file system";
    expect(facts.writes).toMatchObject({ "/workspace/x": "written", "/tmp/x": "written", "/dev/shm/x": "written" });
    expect(facts.writes).toMatchObject({ "/x": refused, "/usr/x": refused, "/deps/x": refused, "/deps/.env": refused });
    expect(facts.writes).toMatchObject({ "/dev/x": refused, "/etc/x": refused });
  });

  test.skipIf(!(probe.available && probe.layouts.template))("isolates a template that can start cells", async () => {
    const questions = `
import ctypes
facts["stage"] = read("${stagePath(0)}/open.txt")
facts["writes"] = {path: write(path) for path in ("/run/s/x", "/tmp/x", "/workspace/x", "/run/x", "${stagePath(0)}/x", "/deps/x")}
libc = ctypes.CDLL(None, use_errno=True)
uid, gid = os.getuid(), os.getgid()
facts["unshare"] = libc.unshare(0x7e020000)
for name, text in {"setgroups": "deny", "uid_map": f"1000 {uid} 1", "gid_map": f"1000 {gid} 1"}.items():
    with open("/proc/self/" + name, "w") as file: file.write(text)
child = os.fork()
if child == 0:
    bind = 4096 | 16384
    steps = [libc.mount(b"proc", b"/proc", b"proc", 14, None), libc.mount(b"${stagePath(0)}", b"/deps", None, bind, None),
      libc.mount(b"tmpfs", b"/run", b"tmpfs", 7, b"size=4k"), libc.mount(b"/.empty-file", b"/proc/keys", None, 4096, None),
      libc.mount(b"tmpfs", b"/tmp", b"tmpfs", 6, b"size=4k")]
    seen = [read("/deps/open.txt"), read("/proc/keys"), os.listdir("/run"), os.listdir("/tmp"), os.getpid()]
    os.write(1, json.dumps({"steps": steps, "seen": seen, **facts}).encode()); os._exit(0)
os.waitpid(child, 0); os._exit(0)`;
    const facts = await ask("template", questions, (command) =>
      templateArguments({
        ...jail,
        command,
        socketDirectory: join(base, "sockets"),
        mounts: [{ source: join(base, "data"), target: "/deps", mode: "ro", kind: "directory" }],
        cgroups: [],
        mapsUsers: false,
      }),
    );
    // the template sees a part of /sys for the C library; every cell covers it
    expectJailed({ ...facts, root: (facts.root as string[]).filter((name) => name !== "sys") });
    expect(facts).toMatchObject({ stage: "data/open.txt", unshare: 0, steps: [0, 0, 0, 0, 0] });
    // a cell covers the template's /tmp, and sees no file of it
    expect(facts.seen).toEqual(["data/open.txt", "", [], [], 1]);
    const writes = facts.writes as Record<string, string>;
    expect(Object.entries(writes).flatMap(([path, answer]) => (answer === "written" ? [path] : []))).toEqual([
      ...["/run/s/x", "/tmp/x"],
    ]);
  });
});

const masks = await findProcMasks();

function expectJailed(facts: Record<string, unknown>): void {
  expect(facts).toMatchObject({
    pid: 1,
    user: "cell",
    host: "cell",
    localhost: "127.0.0.1",
    capabilities: ["0000000000000000"],
    privileges: "1",
    seccomp: "2",
  });
  expect(facts.environment).toEqual([
    "GLIBC_TUNABLES",
    "HOME",
    "LANG",
    "OPENBLAS_NUM_THREADS",
    "PATH",
    "PWD",
    "TMPDIR",
  ]);
  const outside = ["home", "root", "var", "boot", "mnt", "srv", "sys", "etc/shadow"];
  for (const name of outside) expect(facts.root).not.toContain(name);
}

/** Runs the probe in the jail and returns what it found. */
async function ask(
  phase: "template" | "cell",
  questions: string,
  argumentsFor: (command: string[]) => string[],
): Promise<Record<string, unknown>> {
  if (!probe.available) throw new Error(probe.reason);
  const program = `${look}\n${questions}\nprint(json.dumps(facts))`;
  const identity = uid === undefined ? {} : { uid, gid: uid };
  const child = spawn(probe.path, argumentsFor([jail.python.executableInside, "-I", "-c", program]), {
    env: {},
    cwd: "/",
    stdio: ["ignore", "pipe", "pipe", "pipe"],
    timeout: 20_000,
    killSignal: "SIGKILL",
    ...identity,
  });
  const pipe = child.stdio[filterDescriptor];
  if (!pipe || !("end" in pipe)) throw new Error("no pipe for the filter");
  pipe.end(seccompFilter({ arch, phase, allowMemfd: true, allowAffinity: true }));
  let output = "";
  let complaint = "";
  child.stdout?.on("data", (chunk) => {
    output += String(chunk);
  });
  child.stderr?.on("data", (chunk) => {
    complaint += String(chunk);
  });
  const code = await new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  if (code !== 0) throw new Error(`ended with ${code}: ${complaint}`);
  return JSON.parse(output) as Record<string, unknown>;
}
