import { spawn } from "node:child_process";
import { access } from "node:fs/promises";
import { constants } from "node:os";
import { describe, expect, test } from "vitest";
import { seccompFilter } from "../../src/runners/linux/seccomp/seccomp.ts";
import type { FilterArch, SyscallName } from "../../src/runners/linux/seccomp/syscalls.ts";
import { syscallNumber } from "../../src/runners/linux/seccomp/syscalls.ts";

const bubblewrap = "/usr/bin/bwrap";
const python = "/usr/bin/python3";
const arch = process.arch === "x64" || process.arch === "arm64" ? process.arch : undefined;
const missing = await firstMissing([bubblewrap, python]);
const skipReason = arch
  ? missing && `${missing} is missing: apt install bubblewrap python3`
  : `no filter for ${process.arch}`;
if (skipReason && (process.env.REQUIRE_RUNNERS ?? "").split(",").includes("process")) throw new Error(skipReason);

const { EPERM, ENOMEM, ENOSYS, EAFNOSUPPORT, EOPNOTSUPP, EPROTONOSUPPORT } = constants.errno;
const ESOCKTNOSUPPORT = 94;

/** A system call, its arguments and the resulting errno; 0: it succeeds. */
type Call = readonly [SyscallName, readonly number[], number];

/** Without the filter, each of these has another result. So the result comes from the filter. */
const attacks: readonly Call[] = [
  ["mount", [0, 0, 0, 0, 0], EPERM],
  ["clone", [0x10000011, 0, 0, 0, 0], EPERM],
  ["unshare", [0x10000000], EPERM],
  ["clone3", [0, 0], ENOSYS],
  ["ptrace", [0x4206, 99_999_999, 0, 0], EPERM],
  ["kcmp", [99_999_999, 99_999_999, 0, 0, 0], EPERM],
  ["pidfd_getfd", [-1, 0, 0], EPERM],
  ["name_to_handle_at", [-1, 0, 0, 0, 0], EPERM],
  ["perf_event_open", [0, 0, -1, -1, 0], EPERM],
  ["keyctl", [0, -3, 1], EPERM],
  ["io_uring_setup", [8, 0], ENOSYS],
  ["userfaultfd", [0], ENOSYS],
  ["io_setup", [1, 0], ENOSYS],
  ["mmap", [0, 1 << 21, 3, 0x44022, -1, 0], ENOMEM],
  ["shmget", [0, 4096, 0o1600], ENOSYS],
  ["semget", [0, 32000, 0o1600], ENOSYS],
  ["msgget", [0, 0o1600], ENOSYS],
  ["fcntl", [0, 8, 1], EPERM],
  ["fcntl", [0, 10, 9], EPERM],
  ["ioctl", [0, 0x8901, 0], EPERM],
  ["setns", [-1, 0], EPERM],
  ["socket", [16, 3, 0], EAFNOSUPPORT],
  ["socket", [17, 3, 0], EAFNOSUPPORT],
  ["socket", [2, 2, 1], EPROTONOSUPPORT],
  ["ioctl", [0, 0x5412, 0], EPERM],
  ["ioctl", [0, 0x100005412, 0], EPERM],
  ["personality", [0x0040000], EPERM],
  ["setpriority", [0, 1, 19], EPERM],
  ["sched_setaffinity", [1, 8, 0], EPERM],
  ["memfd_create", [0, 0], ENOSYS],
  ["fallocate", [-1, 0, 0, 1], EOPNOTSUPP],
  ["ioctl", [0, 0x40305828, 0], EOPNOTSUPP],
];

/** The Linux kernel may refuse these also without the filter: no privilege, or no such module. */
const doublyRefused: readonly Call[] = [
  ["bpf", [0, 0, 0], EPERM],
  ["kexec_load", [0, 0, 0, 0], EPERM],
  ["finit_module", [-1, 0, 0], EPERM],
  ["socket", [40, 1, 0], EAFNOSUPPORT],
  ["socket", [2, 5, 0], ESOCKTNOSUPPORT],
];

const permitted: readonly Call[] = [
  ["unshare", [0x400], 0],
  ["socket", [1, 1, 0], 0],
  ["socket", [2, 1, 6], 0],
];

const attackProgram = `
import ctypes, json, os, sys
own = os.getpid()
libc = ctypes.CDLL(None, use_errno=True)
answers = []
for number, args in json.loads(sys.argv[1]):
    ctypes.set_errno(0)
    result = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) for a in args])
    if os.getpid() != own: os._exit(0)
    answers.append(ctypes.get_errno() if result < 0 else 0)
print(json.dumps(answers))`;

const ordinaryProgram = `
import json, socket, subprocess, tempfile, threading, multiprocessing, asyncio
thread = threading.Thread(target=lambda: None); thread.start(); thread.join()
child = subprocess.run(["/usr/bin/true"]).returncode
async def loopback():
    server = await asyncio.start_server(lambda r, w: w.close(), "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    return len(await reader.read())
names = socket.getaddrinfo("localhost", 80, 0, socket.SOCK_STREAM, 0, socket.AI_ADDRCONFIG)
print(json.dumps([child, asyncio.run(loopback()), len(names) > 0, socket.if_nametoindex("lo")]))`;

describe.skipIf(skipReason)(`the system call filter in a real sandbox${skipReason ? ` (${skipReason})` : ""}`, () => {
  test("refuses each attack with the errno of its rule", async () => {
    const calls = [...attacks, ...doublyRefused, ...permitted];
    expect(await answersTo(calls, "filtered")).toEqual(calls);
  });

  test("is what refuses the attacks: without it each call has another result", async () => {
    const unfiltered = await answersTo(attacks, "bare");
    expect(attacks.filter((attack, index) => attack[2] === unfiltered[index]?.[2])).toEqual([]);
  });

  test("kills a process that makes a 32-bit call", async ({ skip }) => {
    if (arch !== "x64") skip("only x64 has int 0x80");
    // mov eax, 20 (getpid); int 0x80; ret
    const program = `
import ctypes, mmap
page = mmap.mmap(-1, 4096, prot=7); page.write(bytes.fromhex("b814000000cd80c3"))
print(ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))())`;
    await expect(runIn("filtered", program)).rejects.toThrow(/SIGSYS|159/);
  });

  test("allows threads, child processes, loopback connections and name resolution", async () => {
    expect(JSON.parse(await runIn("filtered", ordinaryProgram))).toEqual([0, 0, true, 1]);
  });
});

async function answersTo(calls: readonly Call[], sandbox: "filtered" | "bare"): Promise<Call[]> {
  const numbered = JSON.stringify(calls.map(([name, args]) => [numberOf(name), args]));
  const answers: unknown = JSON.parse(await runIn(sandbox, attackProgram, numbered));
  if (!Array.isArray(answers)) throw new Error("no answers");
  return calls.map(([name, args], index) => [name, args, Number(answers[index])]);
}

/** Runs Python in a sandbox whose only defence is the filter, so that every refusal is the filter's. */
async function runIn(kind: "filtered" | "bare", program: string, ...args: string[]): Promise<string> {
  const sandbox = [
    "--unshare-user",
    "--unshare-pid",
    "--unshare-net",
    "--unshare-ipc",
    "--die-with-parent",
    "--new-session",
  ];
  const files = ["--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"];
  const filter = kind === "filtered" ? ["--seccomp", "4"] : [];
  const command = ["--", python, "-I", "-c", program, ...args];
  const child = spawn(bubblewrap, [...sandbox, ...files, ...filter, ...command], {
    env: {},
    cwd: "/",
    stdio: ["ignore", "pipe", "pipe", "ignore", "pipe"],
    timeout: 20_000,
    killSignal: "SIGKILL",
  });
  const filterPipe = child.stdio[4];
  if (!filterPipe || !("end" in filterPipe)) throw new Error("no pipe for the filter");
  filterPipe.on("error", () => {}); // nobody reads it in the bare sandbox
  filterPipe.end(seccompFilter({ arch: filterArch(), phase: "cell", allowMemfd: false, allowAffinity: true }));
  let output = "";
  let complaint = "";
  child.stdout?.on("data", (chunk) => {
    output += String(chunk);
  });
  child.stderr?.on("data", (chunk) => {
    complaint += String(chunk);
  });
  const [code, signal] = await new Promise<[number | null, string | null]>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (...ending) => resolve(ending));
  });
  if (code !== 0) throw new Error(`ended with ${signal ?? code}: ${complaint}`);
  return output;
}

function numberOf(name: SyscallName): number {
  const number = syscallNumber(name, filterArch());
  if (number === undefined) throw new Error(`${name} has no number on ${arch}`);
  return number;
}

function filterArch(): FilterArch {
  if (!arch) throw new Error(`no filter for ${process.arch}`);
  return arch;
}

async function firstMissing(paths: readonly string[]): Promise<string | undefined> {
  for (const path of paths) {
    if (
      !(await access(path).then(
        () => true,
        () => false,
      ))
    )
      return path;
  }
  return undefined;
}
