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
import { absentCalls, deniedCalls, setupCalls, signalCalls } from "./denied-calls.ts";
import type { FilterArch, SyscallName } from "./syscalls.ts";
import { highestKnownSyscall, syscallNumber } from "./syscalls.ts";

export interface SeccompOptions {
  readonly arch: FilterArch;
  /** `template` leaves open what a cell's set-up needs; the cell adds its own filter on top before user code exists */
  readonly phase: "template" | "cell";
  /** false where no memory cgroup bounds it: memory of a memfd counts against no rlimit */
  readonly allowMemfd: boolean;
  /** false where the cpu limit is an affinity mask that user code must not widen; a template may always */
  readonly allowAffinity: boolean;
  /** true where the cell has no IPC namespace of its own: message queues would be the host's */
  readonly sharesIpc?: boolean;
  /** the supervisor's number inside the cell; it is the first process unless somebody else's tool made the cell */
  readonly supervisorPid?: number;
  /** true where the cell's kernel, unlike Linux, lets its first process be killed from inside; tells nothing of copies */
  readonly shieldsSupervisor?: boolean;
}

export const verdict = {
  allow: 0x7fff0000,
  killProcess: 0x80000000,
  userNotify: 0x7fc00000,
  errno: (code: number): number => 0x00050000 | code,
} as const;

export const errno = { EPERM: 1, ENOSYS: 38, EPROTONOSUPPORT: 93, ESOCKTNOSUPPORT: 94, EAFNOSUPPORT: 97 } as const;

export const auditArch = { x64: 0xc000003e, arm64: 0xc00000b7 } as const satisfies Record<FilterArch, number>;

const namespaceFlags = 0x7e020000; // NEWNS NEWCGROUP NEWUTS NEWIPC NEWUSER NEWPID NEWNET
const newTimeNamespace = 0x80; // for unshare only: clone's low byte is the exit signal
const socketFamily = { unix: 1, inet: 2, inet6: 10 } as const;
const socketType = { stream: 1, datagram: 2, mask: 0xf } as const;
const protocol = { unspecified: 0, tcp: 6, udp: 17 } as const;
const terminalTricks = [
  0x5412, // TIOCSTI types into the terminal of whoever started us
  0x541c, // TIOCLINUX pastes into a console
  0x5423, // TIOCSETD loads line disciplines
];
/** The Linux kernel then sends a signal of the caller's choice to a process of its choice: past the guard of parked copies. */
const signalsByDescriptor = {
  fcntl: [8, 10, 15], // F_SETOWN, F_SETSIG, F_SETOWN_EX
  ioctl: [0x8901, 0x8902], // FIOSETOWN, SIOCSPGRP
} as const;
/** Ways to send a signal whose first argument is the process that gets it, or to get a handle of that process. */
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
    // x32 calls and what later kernels bring: the list below would not know their numbers
    ...ifAtLeast(highestKnownSyscall + 1, deny("ENOSYS")),
    ...on("clone", [...load(argumentLow(0)), ...ifAnyBit(namespaceFlags, deny("EPERM")), ...allow]),
    ...(inSetup ? [] : on("unshare", unshareRule)),
    ...on("ioctl", ioctlRule),
    ...on("fcntl", fcntlRule),
    ...on("socket", socketRule),
    ...on("socketpair", [...load(argumentLow(0)), ...ifEqual([socketFamily.unix], allow), ...deny("EAFNOSUPPORT")]),
    ...on("personality", [...load(argumentLow(0)), ...ifEqual([0, 0xffffffff], allow), ...deny("EPERM")]),
    ...on("prlimit64", prlimitRule),
    ...(options.shieldsSupervisor ? ifEqual(numbers(callsByPid, arch), unlessSupervisor(supervisorPid)) : []),
    ...on("setpriority", priorityRule(0, supervisorPid)), // PRIO_PROCESS
    ...on("ioprio_set", priorityRule(1, supervisorPid)), // IOPRIO_WHO_PROCESS
    // the set-up itself pins a cell to its processors
    ...(inSetup || options.allowAffinity ? [] : on("sched_setaffinity", deny("EPERM"))),
    ...ifEqual(
      numbers(["sched_setaffinity", "sched_setscheduler", "sched_setparam", "sched_setattr"], arch),
      unlessSupervisor(supervisorPid),
    ),
    ...(options.allowMemfd ? [] : on("memfd_create", deny("ENOSYS"))),
    ...(options.sharesIpc ? on("mq_open", deny("ENOSYS")) : []),
    ...ifEqual(numbers(absentCalls, arch), deny("ENOSYS")),
    ...ifEqual(numbers(denied, arch), deny("EPERM")),
    ...allow,
  ]);
}

/** Asks the supervisor about every signal the worker sends, so that user code cannot kill parked copies. */
export function killNotifyFilter(arch: FilterArch): Buffer {
  return encode([
    ...expectArchitecture(arch),
    ...ifEqual(numbers(signalCalls, arch), answer(verdict.userNotify)),
    ...allow,
  ]);
}

/** Ends a process that enters the Linux kernel by another table (i386 on x64, arm on arm64); then loads the call's number. */
function expectArchitecture(arch: FilterArch): Instruction[] {
  return [...load(field.arch), ...unlessEqual(auditArch[arch], answer(verdict.killProcess)), ...load(field.syscall)];
}

const unshareRule = [...load(argumentLow(0)), ...ifAnyBit(namespaceFlags | newTimeNamespace, deny("EPERM")), ...allow];

/** The Linux kernel reads 32 bits of the request, so bits above must not hide a forbidden one. */
const ioctlRule = [
  ...load(argumentLow(1)),
  ...ifEqual([...terminalTricks, ...signalsByDescriptor.ioctl], deny("EPERM")),
  ...allow,
];

const fcntlRule = [...load(argumentLow(1)), ...ifEqual([...signalsByDescriptor.fcntl], deny("EPERM")), ...allow];

/**
 * Local sockets, TCP and UDP. Raw, packet, vsock and the rest are code of the Linux kernel that a cell has no use for. The type is
 * checked too: with protocol 0 it alone selects SCTP (5) or DCCP (6). Netlink is closed although getifaddrs() and
 * socket.if_nameindex() fail without it: name resolution takes the failure as "both families are there", and the cell
 * has nothing but its loopback to list.
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

/** Own limits may be changed and others' be read; setting another's (the supervisor's) is what is closed. */
const prlimitRule = [
  ...load(argumentLow(0)),
  ...ifEqual([0], allow),
  ...load(argumentLow(2)),
  ...ifEqual([0], [...load(argumentHigh(2)), ...ifEqual([0], allow), ...deny("EPERM")]),
  ...deny("EPERM"),
];

/** The supervisor has to answer while user code is stuck: nobody else slows it down. Who 0 is the caller itself. */
function unlessSupervisor(supervisorPid: number): Instruction[] {
  return [...load(argumentLow(0)), ...ifEqual([supervisorPid], deny("EPERM")), ...allow];
}

/** Groups and users would include the supervisor, so only single processes, and not that one. */
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
