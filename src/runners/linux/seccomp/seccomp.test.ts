import { describe, expect, test } from "vitest";
import { simulateFilter } from "../../../../test/support/bpf-simulator.ts";
import { absentCalls, deniedCalls, signalCalls, watchCalls } from "./denied-calls.ts";
import type { SeccompOptions } from "./seccomp.ts";
import { auditArch, closingFilter, errno, killNotifyFilter, seccompFilter, verdict } from "./seccomp.ts";
import type { FilterArch, SyscallName } from "./syscalls.ts";
import { highestKnownSyscall, syscallNumber } from "./syscalls.ts";

type Answer = "allow" | "kill" | "notify" | "nothing" | keyof typeof errno;
type Arguments = readonly (number | bigint)[];
type Expectation = readonly [call: SyscallName, args: Arguments, answer: Answer, why?: string];

const above = 1n << 32n; // a bit that the Linux kernel ignores if the parameter is an int
const NEWUSER = 0x10000000;
const threadFlags = 0x3d0f00;

const inCells: readonly Expectation[] = [
  ["read", [], "allow"],
  ["execve", [], "allow"],
  ["clone", [17], "allow", "fork"],
  ["clone", [threadFlags], "allow", "a thread"],
  ["clone", [NEWUSER | 17], "EPERM"],
  ["clone", [0x00020000], "EPERM", "mount namespace"],
  ["clone", [0x02000000], "EPERM", "cgroup namespace"],
  ["clone", [0x40000000n | above], "EPERM", "network namespace with a high bit set"],
  ["clone", [0x80], "allow", "the low byte is the exit signal"],
  ["clone3", [0, 88], "ENOSYS"],
  ["unshare", [0x400], "allow", "file descriptors"],
  ["unshare", [NEWUSER], "EPERM"],
  ["unshare", [0x80], "EPERM", "time namespace"],
  ["unshare", [0x00020000n | above], "EPERM"],
  ["ioctl", [0, 0x5401], "allow", "TCGETS"],
  ["ioctl", [0, 0x5412], "EPERM", "TIOCSTI"],
  ["ioctl", [0, 0x5412n | above], "EPERM", "TIOCSTI with a high bit set"],
  ["ioctl", [0, 0x541cn | (1n << 63n)], "EPERM", "TIOCLINUX with a high bit set"],
  ["ioctl", [0, 0x5423], "EPERM", "TIOCSETD"],
  ["ioctl", [0x5412, 0], "allow", "the request is the second argument"],
  ["socket", [1, 1, 0], "allow", "unix"],
  ["socket", [1, 5, 0], "allow", "unix packets"],
  ["socket", [1n | above, 1, 0], "allow", "the Linux kernel reads unix here"],
  ["socket", [2, 1, 0], "allow"],
  ["socket", [2, 1 | 0o2000000 | 0o4000, 6], "allow", "TCP, close-on-exec, non-blocking"],
  ["socket", [10, 2, 17], "allow"],
  ["socket", [2, 3, 0], "ESOCKTNOSUPPORT", "raw"],
  ["socket", [2, 5, 0], "ESOCKTNOSUPPORT", "SCTP by its type"],
  ["socket", [2, 6, 0], "ESOCKTNOSUPPORT", "DCCP by its type"],
  ["socket", [2, 2, 1], "EPROTONOSUPPORT", "ping"],
  ["socket", [2, 1, 132], "EPROTONOSUPPORT", "SCTP"],
  ["socket", [2, 1, 262], "EPROTONOSUPPORT", "MPTCP"],
  ["socket", [16, 3, 0], "EAFNOSUPPORT", "netlink route"],
  ["socket", [16n | above, 3, 0], "EAFNOSUPPORT", "netlink with a high bit set"],
  ["socket", [16, 3, 9], "EAFNOSUPPORT", "netlink audit"],
  ["socket", [17, 3, 0], "EAFNOSUPPORT", "packet"],
  ["socket", [38, 5, 0], "EAFNOSUPPORT", "crypto of the Linux kernel"],
  ["socket", [40, 1, 0], "EAFNOSUPPORT", "vsock"],
  ["socket", [44, 3, 0], "EAFNOSUPPORT", "xdp"],
  ["socketpair", [1, 1, 0], "allow"],
  ["socketpair", [2, 1, 0], "EAFNOSUPPORT"],
  ["personality", [0], "allow"],
  ["personality", [0xffffffff], "allow", "reads the current one"],
  ["personality", [0x0040000], "EPERM", "no address randomisation"],
  ["prlimit64", [0, 7, 4096], "allow", "its own"],
  ["prlimit64", [1, 7, 0], "allow", "reads"],
  ["prlimit64", [1, 7, 4096], "EPERM"],
  ["prlimit64", [1, 7, 1n << 40n], "EPERM", "a pointer whose low half is 0"],
  ["prlimit64", [above, 7, 4096], "allow", "the Linux kernel reads pid 0 here"],
  ["setpriority", [0, 0, 5], "allow"],
  ["setpriority", [0, 7, 5], "allow"],
  ["setpriority", [0, 1, 19], "EPERM", "the supervisor"],
  ["setpriority", [0, 1n | above, 19], "EPERM"],
  ["setpriority", [1, 0, 5], "EPERM", "a group"],
  ["setpriority", [2, 0, 5], "EPERM", "a user"],
  ["ioprio_set", [1, 0, 0], "allow"],
  ["ioprio_set", [1, 1, 0], "EPERM", "the supervisor"],
  ["ioprio_set", [3, 0, 0], "EPERM", "a user"],
  ["sched_setaffinity", [0], "allow"],
  ["sched_setaffinity", [77], "allow"],
  ["sched_setaffinity", [1], "EPERM"],
  ["sched_setscheduler", [1n | above], "EPERM"],
  ["sched_setparam", [1], "EPERM"],
  ["sched_setattr", [1], "EPERM"],
  ["sched_setattr", [0], "allow"],
  ["memfd_create", [], "allow"],
  ["memfd_create", [0, 4], "ENOMEM", "huge pages"],
  ["mmap", [0, 4096, 3, 0x22, -1, 0], "allow", "anonymous memory"],
  ["mmap", [0, 1 << 21, 3, 0x40022, -1, 0], "ENOMEM", "huge pages of the host"],
  ["setsockopt", [3, 1, 7], "allow", "the size of a buffer"],
  ["fallocate", [3, 0, 0, 4096], "EOPNOTSUPP", "space without writing"],
  ["ioctl", [3, 0x40305828], "EOPNOTSUPP", "FS_IOC_RESVSP"],
  ["ioctl", [3, 0x4030582a], "EOPNOTSUPP", "FS_IOC_RESVSP64"],
  ["ioctl", [3, 0x40305839], "EOPNOTSUPP", "FS_IOC_ZERO_RANGE"],
  ["kill", [-1, 9], "allow", "the notify filter decides"],
  ["inotify_init1", [0], "allow", "the supervisor needs it; the worker's filter refuses it"],
  ["fcntl", [3, 1024, 0], "EPERM", "F_SETLEASE"],
  ["fcntl", [3, 1026n | above, 1], "EPERM", "F_NOTIFY with a high bit set"],
  ["fcntl", [3, 1031, 4096], "allow", "F_SETPIPE_SZ"],
  ["seccomp", [1, 8], "allow", "the worker adds its own"],
  ["prctl", [22], "allow"],
];

describe.each(["x64", "arm64"] as const)("the system call filter on %s", (arch) => {
  const whole: SeccompOptions = { arch, phase: "cell", allowMemfd: true, allowAffinity: true };

  for (const [call, args, answer, why] of inCells) {
    test(`answers ${call}(${args.join(", ")}) with ${answer}${why ? `: ${why}` : ""}`, () => {
      expect(ask(seccompFilter(whole), arch, call, args)).toBe(answer);
    });
  }

  test("refuses every denied call with EPERM and every absent call with ENOSYS", () => {
    const filter = seccompFilter(whole);
    for (const call of deniedCalls) expect([call, ask(filter, arch, call)]).toEqual([call, expected(call, "EPERM")]);
    for (const call of absentCalls) expect([call, ask(filter, arch, call)]).toEqual([call, expected(call, "ENOSYS")]);
  });

  test("allows the template only the extra calls that a cell's setup needs", () => {
    const cell = seccompFilter(whole);
    const template = seccompFilter({ ...whole, phase: "template" });
    const calls = [...new Set<SyscallName>([...inCells.map(([call]) => call), ...deniedCalls, ...absentCalls])];
    const opened = calls.filter((call) => {
      const args = [NEWUSER, 0x5412, 0];
      return ask(template, arch, call, args) === "allow" && ask(cell, arch, call, args) !== "allow";
    });
    expect(opened.sort()).toEqual(["mount", "move_mount", "sethostname", "unshare"]);
  });

  test("lets code reserve space without writing where file systems have a size, in the template's filter too", () => {
    for (const phase of ["cell", "template"] as const) {
      const filter = seccompFilter({ ...whole, phase, allowFallocate: true });
      expect(ask(filter, arch, "fallocate", [3, 0, 0, 4096])).toBe("allow");
      expect(ask(filter, arch, "ioctl", [3, 0x40305828])).toBe("allow");
      expect(ask(filter, arch, "ioctl", [0, 0x5412])).toBe("EPERM");
    }
  });

  test("refuses memfd_create and changes of affinity if they are not allowed", () => {
    const filter = seccompFilter({ ...whole, allowMemfd: false, allowAffinity: false });
    expect(ask(filter, arch, "memfd_create")).toBe("ENOSYS");
    expect(ask(filter, arch, "sched_setaffinity", [0])).toBe("EPERM");
    expect(ask(filter, arch, "sched_setattr", [0])).toBe("allow");
  });

  test("refuses message queues if the cell shares them with the host", () => {
    expect(ask(seccompFilter({ ...whole, sharesIpc: true }), arch, "mq_open")).toBe("ENOSYS");
    expect(ask(seccompFilter(whole), arch, "mq_open")).toBe("allow");
  });

  test("leaves socket buffers at their default size if there is no memory cgroup", () => {
    const filter = seccompFilter({ ...whole, fixesBuffers: true });
    for (const option of [7, 8, 32, 33]) expect(ask(filter, arch, "setsockopt", [3, 1, option])).toBe("nothing");
    expect(ask(filter, arch, "setsockopt", [3, 1, 2])).toBe("allow");
    expect(ask(filter, arch, "setsockopt", [3, 6, 7])).toBe("allow");
  });

  test("allows the list of sockets during the setup only, and no other netlink socket", () => {
    for (const options of [{ phase: "template" }, { mayListSockets: true }] as const) {
      const filter = seccompFilter({ ...whole, ...options });
      expect(ask(filter, arch, "socket", [16, 3, 4])).toBe("allow");
      expect(ask(filter, arch, "socket", [16, 3, 0])).toBe("EAFNOSUPPORT");
      expect(ask(filter, arch, "socket", [17, 3, 0])).toBe("EAFNOSUPPORT");
      expect(ask(filter, arch, "socket", [2, 1, 0])).toBe("allow");
    }
    expect(ask(seccompFilter(whole), arch, "socket", [16, 3, 4])).toBe("EAFNOSUPPORT");
  });

  test("ends the setup: then neither netlink nor, if it is pinned, another core is allowed", () => {
    const filter = closingFilter(arch, { allowAffinity: false });
    expect(ask(filter, arch, "socket", [16n | above, 3, 4])).toBe("EAFNOSUPPORT");
    expect(ask(filter, arch, "socket", [2, 1, 0])).toBe("allow");
    expect(ask(filter, arch, "sched_setaffinity", [0])).toBe("EPERM");
    expect(ask(closingFilter(arch, { allowAffinity: true }), arch, "sched_setaffinity", [0])).toBe("allow");
  });

  test("protects the supervisor by its pid in the cell", () => {
    const filter = seccompFilter({ ...whole, supervisorPid: 2 });
    expect(ask(filter, arch, "sched_setscheduler", [2])).toBe("EPERM");
    expect(ask(filter, arch, "setpriority", [0, 2, 19])).toBe("EPERM");
    expect(ask(filter, arch, "setpriority", [0, 1, 19])).toBe("allow");
  });

  test("allows the template to set the affinity of a cell that may not change it", () => {
    const filter = seccompFilter({ ...whole, phase: "template", allowAffinity: false });
    expect(ask(filter, arch, "sched_setaffinity", [0])).toBe("allow");
  });

  test("refuses unknown call numbers of x32 and of newer Linux kernels", () => {
    const filter = seccompFilter(whole);
    for (const number of [highestKnownSyscall + 1, 521, 0x40000000, 0x40000000 + 59, 0xffffffff]) {
      expect(nameOf(simulateFilter(filter, { arch: auditArch[arch], number }))).toBe("ENOSYS");
    }
  });

  test("kills a process that uses another architecture's system calls", () => {
    for (const foreign of [0x40000003, 0x40000028, auditArch[arch === "x64" ? "arm64" : "x64"]]) {
      for (const filter of [seccompFilter(whole), killNotifyFilter(arch)]) {
        expect(nameOf(simulateFilter(filter, { arch: foreign, number: 11 }))).toBe("kill");
      }
    }
  });

  test("refuses signals to the supervisor if the OS does not protect it, and to no other process", () => {
    const filter = seccompFilter({ ...whole, shieldsSupervisor: true });
    const calls = ["kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_open"] as const;
    for (const call of calls) {
      expect(ask(filter, arch, call, [1, 1, 9])).toBe("EPERM");
      expect(ask(filter, arch, call, [2, 1, 9])).toBe("allow");
      expect(ask(seccompFilter(whole), arch, call, [1, 1, 9])).toBe("allow");
    }
    expect(ask(filter, arch, "kill", [1n | above, 9])).toBe("EPERM");
  });

  test("refuses watches of files in the worker", () => {
    const filter = killNotifyFilter(arch);
    for (const call of watchCalls) expect([call, ask(filter, arch, call)]).toEqual([call, expected(call, "ENOSYS")]);
  });

  test("reports only signals to the supervisor", () => {
    const filter = killNotifyFilter(arch);
    for (const call of signalCalls) expect(ask(filter, arch, call)).toBe("notify");
    for (const call of ["read", "clone", "mount"] as const) expect(ask(filter, arch, call)).toBe("allow");
  });

  test("has fewer than 256 instructions, far below the Linux kernel's limit of 4096", () => {
    expect(seccompFilter(whole).length / 8).toBeLessThan(256);
  });

  function expected(call: SyscallName, answer: Answer): Answer | "none" {
    return syscallNumber(call, arch) === undefined ? "none" : answer;
  }
});

function ask(filter: Buffer, arch: FilterArch, call: SyscallName, args: Arguments = []): Answer | "none" {
  const number = syscallNumber(call, arch);
  if (number === undefined) return "none";
  return nameOf(simulateFilter(filter, { arch: auditArch[arch], number, args }));
}

function nameOf(action: number): Answer {
  if (action === verdict.allow) return "allow";
  if (action === verdict.killProcess) return "kill";
  if (action === verdict.userNotify) return "notify";
  if (action === verdict.errno(0)) return "nothing";
  const name = (Object.keys(errno) as (keyof typeof errno)[]).find((key) => verdict.errno(errno[key]) === action);
  if (name === undefined) throw new Error(`unexpected answer 0x${action.toString(16)}`);
  return name;
}
