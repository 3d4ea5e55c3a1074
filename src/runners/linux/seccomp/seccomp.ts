import type { Instruction } from "./bpf.ts";
import {
  answer,
  argumentHigh,
  argumentLow,
  encode,
  field,
  ifAnyBit,
  ifAtLeast,
  ifEqual,
  keepBits,
  load,
  unlessEqual,
} from "./bpf.ts";
import { absentCalls, deniedCalls, setupCalls, signalCalls, watchCalls } from "./denied-calls.ts";
import type { FilterArch, SyscallName } from "./syscalls.ts";
import { highestKnownSyscall, syscallNumber } from "./syscalls.ts";

export interface SeccompOptions {
  readonly arch: FilterArch;
  /** `template` allows the calls that a cell's setup needs; the cell adds its own filter before it runs user code */
  readonly phase: "template" | "cell";
  /** false if there is no memory cgroup, because no rlimit counts the memory of a memfd */
  readonly allowMemfd: boolean;
  /** false if the CPU limit is an affinity mask, which user code must not change; a template always may */
  readonly allowAffinity: boolean;
  /** true if every file system that the cell can write to has a size: then code may reserve space without writing */
  readonly allowFallocate?: boolean;
  /** true if the cell has no IPC namespace and would see the host's message queues */
  readonly sharesIpc?: boolean;
  /** the supervisor's pid in the cell; default 1, but another tool that created the cell may have that */
  readonly supervisorPid?: number;
  /** true if the cell's OS kernel, unlike Linux, lets processes in the cell kill pid 1; does not protect parked copies */
  readonly shieldsSupervisor?: boolean;
  /** true if the cell's first process opens its list of sockets under this filter and adds `closingFilter`; a template always may */
  readonly mayListSockets?: boolean;
  /** true if there is no memory cgroup: socket buffers keep their default sizes, which the supervisor's watchdog relies on */
  readonly fixesBuffers?: boolean;
}

export const verdict = {
  allow: 0x7fff0000,
  killProcess: 0x80000000,
  userNotify: 0x7fc00000,
  errno: (code: number): number => 0x00050000 | code,
} as const;

export const errno = {
  EPERM: 1,
  ENOMEM: 12,
  ENOSYS: 38,
  EPROTONOSUPPORT: 93,
  ESOCKTNOSUPPORT: 94,
  EOPNOTSUPP: 95,
  EAFNOSUPPORT: 97,
} as const;

export const auditArch = { x64: 0xc000003e, arm64: 0xc00000b7 } as const satisfies Record<FilterArch, number>;

const namespaceFlags = 0x7e020000; // NEWNS NEWCGROUP NEWUTS NEWIPC NEWUSER NEWPID NEWNET
const newTimeNamespace = 0x80; // for unshare only, because the low byte of clone's flags is the exit signal
const socketFamily = { unix: 1, inet: 2, inet6: 10, netlink: 16 } as const;
const netlinkSockets = 4; // NETLINK_SOCK_DIAG lists the sockets of a network namespace
const socketLevel = 1; // SOL_SOCKET
const bufferSizes = [7, 8, 32, 33]; // SO_SNDBUF, SO_RCVBUF, and the same with FORCE
/** Pages that are reserved on the host for other programs, and that a memory cgroup does not count. */
const hugePages = { mmap: 0x40000, memfd: 4 } as const; // MAP_HUGETLB, MFD_HUGETLB
const socketType = { stream: 1, datagram: 2, mask: 0xf } as const;
const protocol = { unspecified: 0, tcp: 6, udp: 17 } as const;
const terminalTricks = [
  0x5412, // TIOCSTI types into the terminal of the user who started codecell
  0x541c, // TIOCLINUX pastes into a console
  0x5423, // TIOCSETD loads line disciplines
];
/** They do what fallocate does: FS_IOC_RESVSP, FS_IOC_RESVSP64, FS_IOC_ZERO_RANGE. */
const reservations = [0x40305828, 0x4030582a, 0x40305839];
/** These make the Linux kernel send any signal to any process, which would bypass the kill guard of parked copies. */
const signalsByDescriptor = {
  fcntl: [8, 10, 15], // F_SETOWN, F_SETSIG, F_SETOWN_EX
  ioctl: [0x8901, 0x8902], // FIOSETOWN, SIOCSPGRP
} as const;
/**
 * F_SETLEASE: a lease on a file of the host that the cell only sees stops the host from writing to it for up to 45 seconds.
 * F_NOTIFY: a watch of a directory, as with inotify.
 */
const reachesHost = [1024, 1026];
/** Calls that send a signal to the process in their first argument, or open a handle of it. */
const callsByPid = signalCalls.filter((name) => name !== "pidfd_send_signal");

const allow = answer(verdict.allow);
const deny = (code: keyof typeof errno): Instruction[] => answer(verdict.errno(errno[code]));

/** The system call filter of a cell, as an array of struct sock_filter. */
export function seccompFilter(options: SeccompOptions): Buffer {
  const { arch, phase, supervisorPid = 1 } = options;
  const inSetup = phase === "template";
  const on = (name: SyscallName, rule: readonly Instruction[]) => ifEqual(numbers([name], arch), rule);
  const denied = inSetup ? deniedCalls.filter((name) => !setupCalls.includes(name)) : deniedCalls;

  return encode([
    ...expectArchitecture(arch),
    // x32 calls and calls of newer Linux kernels, which the list below does not know
    ...ifAtLeast(highestKnownSyscall + 1, deny("ENOSYS")),
    ...on("clone", [...load(argumentLow(0)), ...ifAnyBit(namespaceFlags, deny("EPERM")), ...allow]),
    ...(inSetup ? [] : on("unshare", unshareRule)),
    ...on("ioctl", options.allowFallocate ? ioctlRule([]) : ioctlRule(deny("EOPNOTSUPP"))),
    ...on("fcntl", fcntlRule),
    // takes up gigabytes in a millisecond, before the watch of proc.disk can notice; libc writes zeros instead
    ...(options.allowFallocate ? [] : on("fallocate", deny("EOPNOTSUPP"))),
    ...(inSetup || options.mayListSockets ? on("socket", setupSocketRule) : on("socket", socketRule)),
    ...(options.fixesBuffers ? on("setsockopt", bufferRule) : []),
    ...on("mmap", [...load(argumentLow(3)), ...ifAnyBit(hugePages.mmap, deny("ENOMEM")), ...allow]),
    ...on("socketpair", [...load(argumentLow(0)), ...ifEqual([socketFamily.unix], allow), ...deny("EAFNOSUPPORT")]),
    ...on("personality", [...load(argumentLow(0)), ...ifEqual([0, 0xffffffff], allow), ...deny("EPERM")]),
    ...on("prlimit64", prlimitRule),
    ...(options.shieldsSupervisor ? ifEqual(numbers(callsByPid, arch), unlessSupervisor(supervisorPid)) : []),
    ...on("setpriority", priorityRule(0, supervisorPid)), // PRIO_PROCESS
    ...on("ioprio_set", priorityRule(1, supervisorPid)), // IOPRIO_WHO_PROCESS
    // the setup itself pins a cell to its processors
    ...(inSetup || options.allowAffinity ? [] : on("sched_setaffinity", deny("EPERM"))),
    ...ifEqual(
      numbers(["sched_setaffinity", "sched_setscheduler", "sched_setparam", "sched_setattr"], arch),
      unlessSupervisor(supervisorPid),
    ),
    ...on("memfd_create", options.allowMemfd ? memfdRule : deny("ENOSYS")),
    ...(options.sharesIpc ? on("mq_open", deny("ENOSYS")) : []),
    ...ifEqual(numbers(absentCalls, arch), deny("ENOSYS")),
    ...ifEqual(numbers(denied, arch), deny("EPERM")),
    ...allow,
  ]);
}

/**
 * The worker's own filter. It reports every signal to the supervisor, so that user code cannot kill parked copies, and refuses
 * what the supervisor needs but user code must not have.
 */
export function killNotifyFilter(arch: FilterArch): Buffer {
  return encode([
    ...expectArchitecture(arch),
    ...ifEqual(numbers(signalCalls, arch), answer(verdict.userNotify)),
    ...ifEqual(numbers(watchCalls, arch), deny("ENOSYS")),
    ...allow,
  ]);
}

/**
 * What a cell adds to a filter with `mayListSockets` once its setup is done. Small, because the Linux kernel runs both filters
 * for every call that they look at.
 */
export function closingFilter(arch: FilterArch, options: { readonly allowAffinity: boolean }): Buffer {
  const netlink = [
    ...load(argumentLow(0)),
    ...ifEqual([socketFamily.netlink], deny("EAFNOSUPPORT")),
    ...answer(verdict.allow),
  ];
  return encode([
    ...expectArchitecture(arch),
    ...ifEqual(numbers(["socket"], arch), netlink),
    ...(options.allowAffinity ? [] : ifEqual(numbers(["sched_setaffinity"], arch), deny("EPERM"))),
    ...allow,
  ]);
}

/** Kills a process that uses another architecture's system calls (i386 on x64, arm on arm64), then loads the call number. */
function expectArchitecture(arch: FilterArch): Instruction[] {
  return [...load(field.arch), ...unlessEqual(auditArch[arch], answer(verdict.killProcess)), ...load(field.syscall)];
}

const unshareRule = [...load(argumentLow(0)), ...ifAnyBit(namespaceFlags | newTimeNamespace, deny("EPERM")), ...allow];

/** The Linux kernel reads only 32 bits of the request, so higher bits must not hide a forbidden one. */
const ioctlRule = (onReservation: Instruction[]) => [
  ...load(argumentLow(1)),
  ...ifEqual([...terminalTricks, ...signalsByDescriptor.ioctl], deny("EPERM")),
  ...(onReservation.length > 0 ? ifEqual(reservations, onReservation) : []),
  ...allow,
];

const fcntlRule = [
  ...load(argumentLow(1)),
  ...ifEqual([...signalsByDescriptor.fcntl, ...reachesHost], deny("EPERM")),
  ...allow,
];

/**
 * Allows local sockets, TCP and UDP. Raw, packet, vsock and other sockets are only attack surface of the Linux kernel. The
 * type is checked too, because with protocol 0 it selects SCTP (5) or DCCP (6).
 *
 * Netlink is refused although getifaddrs() and socket.if_nameindex() need it. Even without a capability and in an own network
 * namespace, a NETLINK_ROUTE socket reaches every RTM_GET* handler of the Linux kernel: queueing disciplines, filters, bridges,
 * tunnels. These have leaked the Linux kernel's memory to callers without any privilege (CVE-2016-4486), and a filter sees the
 * socket's protocol but not the requests, so it could not allow only the listing of interfaces. A cell has only loopback to list,
 * if_nametoindex() works, and name resolution works without netlink.
 */
const socketRule = [
  ...load(argumentLow(0)),
  ...ifEqual([socketFamily.unix], allow),
  ...ifEqual(
    [socketFamily.inet, socketFamily.inet6],
    [
      ...load(argumentLow(1)),
      ...keepBits(socketType.mask),
      ...ifEqual(
        [socketType.stream, socketType.datagram],
        [
          ...load(argumentLow(2)),
          ...ifEqual([protocol.unspecified, protocol.tcp, protocol.udp], allow),
          ...deny("EPROTONOSUPPORT"),
        ],
      ),
      ...deny("ESOCKTNOSUPPORT"),
    ],
  ),
  ...deny("EAFNOSUPPORT"),
];

/** During the setup, the supervisor opens the list of its cell's sockets. It keeps it to itself. */
const setupSocketRule = [
  ...load(argumentLow(0)),
  ...ifEqual(
    [socketFamily.netlink],
    [...load(argumentLow(2)), ...ifEqual([netlinkSockets], allow), ...deny("EAFNOSUPPORT")],
  ),
  ...socketRule,
];

/** Answers 0 without a change, as the Linux kernel also adjusts what a program asks for. An error would end some programs. */
const bufferRule = [
  ...load(argumentLow(1)),
  ...ifEqual([socketLevel], [...load(argumentLow(2)), ...ifEqual(bufferSizes, answer(verdict.errno(0))), ...allow]),
  ...allow,
];

const memfdRule = [...load(argumentLow(1)), ...ifAnyBit(hugePages.memfd, deny("ENOMEM")), ...allow];

/** A process may change its own limits and read others'. It may not set those of another process (the supervisor). */
const prlimitRule = [
  ...load(argumentLow(0)),
  ...ifEqual([0], allow),
  ...load(argumentLow(2)),
  ...ifEqual([0], [...load(argumentHigh(2)), ...ifEqual([0], allow), ...deny("EPERM")]),
  ...deny("EPERM"),
];

/** Stops user code from slowing down the supervisor, which must answer while user code is stuck. Pid 0 is the caller. */
function unlessSupervisor(supervisorPid: number): Instruction[] {
  return [...load(argumentLow(0)), ...ifEqual([supervisorPid], deny("EPERM")), ...allow];
}

/** Allows single processes except the supervisor. Process groups and users would include the supervisor. */
function priorityRule(singleProcess: number, supervisorPid: number): Instruction[] {
  return [
    ...load(argumentLow(0)),
    ...ifEqual([singleProcess], [...load(argumentLow(1)), ...ifEqual([supervisorPid], deny("EPERM")), ...allow]),
    ...deny("EPERM"),
  ];
}

function numbers(names: readonly SyscallName[], arch: FilterArch): number[] {
  return names.map((name) => syscallNumber(name, arch)).filter((number) => number !== undefined);
}
