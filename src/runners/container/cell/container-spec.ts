import type { Policy } from "../../../policy/schema.ts";
import { kernelBootstrap } from "../../kernel-bootstrap.ts";
import type { CellMount } from "../../linux/mounts.ts";
import type { EngineKind } from "../engine/engine-address.ts";
import type { ImageInEngine } from "../image/image-list.ts";
import { coveredVolumes } from "../image/image-volumes.ts";
import { type BindMount, mountFields } from "./bind-mounts.ts";
import { listenerName } from "./cell-listener.ts";
import { shownBelow } from "./nested-binds.ts";

/** Where a cell keeps its own files in memory, whatever the policy says. */
export const scratchBytes = { tmp: 64 * 1024 * 1024, shared: 64 * 1024 * 1024 } as const;
const inodes = { tmp: 8192, workspace: 16_384 } as const;
/** Supervisor, parked copy and the process between them during a fork do not count against `proc.pids`. */
export const kernelProcesses = 3;
/** A program that runs in a virtual OS kernel needs threads of the host's, several for each of its own. */
export const ownKernelThreads = 1024;

/** Numbers of Linux, the same on every machine we know. */
const rlimit = { sigpending: 11, msgqueue: 12, nice: 13, rtprio: 14 } as const;

const socketTarget = "/.channel";

const bootstrap = kernelBootstrap("container");

/** What tells about the machine and its other tenants, beyond what engines hide by themselves. */
const hiddenPaths = [
  ...["/proc/acpi", "/proc/asound", "/proc/driver", "/proc/kcore", "/proc/keys", "/proc/key-users", "/proc/kallsyms"],
  ...["/proc/modules", "/proc/cmdline", "/proc/config.gz", "/proc/interrupts", "/proc/iomem", "/proc/ioports"],
  ...["/proc/mtrr", "/proc/partitions", "/proc/diskstats", "/proc/schedstat", "/proc/sched_debug", "/proc/scsi"],
  ...["/proc/timer_list", "/proc/timer_stats", "/proc/latency_stats", "/sys"],
];
const fixedPaths = ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"];

/** What a cell sees in /etc of users, names and name servers: one user, `localhost`, and nothing of the host's. */
export const identityFiles = ["passwd", "group", "hosts", "resolv.conf", "nsswitch.conf"] as const;

export interface ContainerParts {
  readonly policy: Policy;
  readonly engine: EngineKind;
  readonly image: ImageInEngine;
  /** the interpreter inside the image */
  readonly python: string;
  /** the engine's name of another runtime: runsc, kata */
  readonly runtime: string | undefined;
  /** the OS kernel of the cell is not the host's: its processes and memory are counted inside */
  readonly hasOwnKernel: boolean;
  readonly user: { readonly uid: number; readonly gid: number };
  readonly mounts: readonly CellMount[];
  /** the session's own directory on the host */
  readonly workspace: string | undefined;
  readonly kernelDirectory: string;
  readonly identityDirectory: string;
  /** host directory with the socket that the cell connects to; undefined: it speaks through the engine */
  readonly socketDirectory: string | undefined;
  readonly emptyFile: string;
  readonly emptyDirectory: string;
  readonly labels: Readonly<Record<string, string>>;
  /** device and inode of mounts mean the same inside */
  readonly checksIdentities: boolean;
  /** name of our system call filter below /.kernel */
  readonly filter: string | undefined;
  /** how many processes a user of this host may have; undefined: as many as it likes */
  readonly processLimit: number | undefined;
  /** of the engine's machine; undefined: it does not say */
  readonly processors: number | undefined;
  /** the user namespace of the engine's own choice is given up, because host directories have owners of the host's */
  readonly usesHostUsers: boolean;
  /** labels of SELinux are given up, because host directories have labels of the host's */
  readonly usesHostLabels: boolean;
}

/** Pure: the container that a policy asks for, as the Engine API takes it. */
export function containerSpec(parts: ContainerParts) {
  const { policy, user } = parts;
  const { proc } = policy;
  return {
    Image: parts.image.id,
    Entrypoint: [parts.python, "-I", "-S", "-B", "-c", bootstrap],
    Cmd: [JSON.stringify(cellSettings(parts))],
    User: `${user.uid}:${user.gid}`,
    WorkingDir: "/",
    Hostname: "cell",
    Domainname: "",
    Env: [],
    Labels: parts.labels,
    OpenStdin: true,
    StdinOnce: true, // the container ends when its host is gone, whatever happened to the host
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: true,
    Tty: false,
    StopSignal: "SIGKILL", // an engine that shuts down or restarts does not wait for a cell to end by itself
    NetworkDisabled: true,
    Healthcheck: { Test: ["NONE"] },
    HostConfig: {
      ...(parts.runtime === undefined ? {} : { Runtime: parts.runtime }),
      ...(parts.usesHostUsers ? { UsernsMode: "host" } : {}),
      AutoRemove: true,
      NetworkMode: "none",
      // the host's name servers and search domains are nobody's business in there
      Dns: ["127.0.0.1"],
      DnsSearch: ["."],
      ReadonlyRootfs: true,
      IpcMode: "private",
      CgroupnsMode: "private",
      CapDrop: ["ALL"],
      SecurityOpt: [
        "no-new-privileges",
        ...hostLabels(parts.usesHostLabels),
        ...(parts.engine === "podman" ? [`mask=${hiddenPaths.join(":")}`] : []),
      ],
      PidsLimit: proc.pids + kernelProcesses + (parts.hasOwnKernel ? ownKernelThreads : 0),
      Memory: containerMemoryBytes(parts),
      MemorySwap: containerMemoryBytes(parts),
      // more than there are is no limit, and Docker refuses to hear of it
      NanoCpus: Math.round(Math.min(proc.cpus, parts.processors ?? proc.cpus) * 1e9),
      Ulimits: [
        { Name: "nofile", Soft: proc.files, Hard: proc.files },
        { Name: "core", Soft: 0, Hard: 0 },
        // gVisor counts a user's processes by itself; the supervisor's count comes too late for a fork bomb
        ...inheritedLimits(parts.hasOwnKernel ? proc.pids + kernelProcesses : parts.processLimit),
      ],
      ShmSize: scratchBytes.shared,
      Tmpfs: memoryFiles(parts),
      ...mountFields(parts.engine, binds(parts)),
      MaskedPaths: hiddenPaths, // Podman passes over this one, and takes the list as a security option
      ReadonlyPaths: fixedPaths,
      LogConfig: { Type: "none", Config: {} }, // what a cell says is for its session, not for the engine's disk
      Init: false, // our supervisor is pid 1, and reaps
    },
  };
}

/** Without it nothing of ours could be read inside: neither the kernel's files nor the policy's mounts. */
export function hostLabels(usesHostLabels: boolean): string[] {
  return usesHostLabels ? ["label=disable"] : [];
}

/** Podman asks for more processes per user than a host that limits them can give; `proc.pids` is held elsewhere. */
export function inheritedLimits(processLimit: number | undefined) {
  return processLimit === undefined ? [] : [{ Name: "nproc", Soft: processLimit, Hard: processLimit }];
}

/** Pages of a tmpfs are charged to the cell and outlive a kill: a full /tmp must not make every later run die. */
export function containerMemoryBytes({ policy, workspace, hasOwnKernel }: ContainerParts): number {
  const isOnDisk = policy.fs.workspace !== undefined || workspace !== undefined;
  const files = scratchBytes.tmp + scratchBytes.shared + (isOnDisk ? 0 : policy.proc.diskBytes);
  return policy.proc.memoryBytes + files + (hasOwnKernel ? ownKernelBytes : 0);
}

/** What a virtual OS kernel takes for itself and for the interpreters it holds. */
export const ownKernelBytes = 256 * 1024 * 1024;

function cellSettings(parts: ContainerParts) {
  const { proc } = parts.policy;
  return {
    files: proc.files,
    diskBytes: proc.diskBytes,
    guard: !parts.hasOwnKernel,
    filter: parts.filter ?? "",
    socket: parts.socketDirectory === undefined ? "" : `${socketTarget}/${listenerName}`,
    targets: parts.mounts.map(({ target }) => target),
    identities: parts.checksIdentities ? parts.mounts.map(({ target, identity }) => ({ target, identity })) : [],
    nested: parts.checksIdentities ? parts.mounts.flatMap(nestedIdentities) : [],
    // limits of queues and priorities that gVisor's OS kernel does not know, and whose objects it does not have
    ...(parts.hasOwnKernel
      ? { dataLimit: proc.memoryBytes, mayLack: [rlimit.msgqueue, rlimit.sigpending, rlimit.nice, rlimit.rtprio] }
      : {}),
  };
}

function nestedIdentities(mount: CellMount) {
  return shownBelow(mount).map(({ path, identity }) => ({ target: `${mount.target}/${path}`, identity }));
}

function memoryFiles({ policy, user, workspace, engine }: ContainerParts): Record<string, string> {
  const hasDirectory = policy.fs.workspace !== undefined || workspace !== undefined;
  const common = "rw,exec,nosuid,nodev";
  // Podman takes neither owners nor a number of inodes; those count as memory of the cell, and the cell has one user.
  // What an image has in such a place, owner and rights first of all, would be copied up over ours.
  const own =
    engine === "podman"
      ? "mode=1777,notmpcopyup"
      : `mode=755,uid=${user.uid},gid=${user.gid},nr_inodes=${inodes.workspace}`;
  const open = engine === "podman" ? "mode=1777,notmpcopyup" : `mode=1777,nr_inodes=${inodes.tmp}`;
  return {
    "/tmp": `${common},size=${scratchBytes.tmp},${open}`,
    ...closedMemoryFiles(engine),
    ...(hasDirectory ? {} : { "/workspace": `${common},size=${policy.proc.diskBytes},${own}` }),
  };
}

/** Podman makes these writable and without a limit when the root is read-only, unless something is there already. */
export function closedMemoryFiles(engine: EngineKind): Record<string, string> {
  const closed = "ro,noexec,nosuid,nodev,size=4096,mode=555,notmpcopyup";
  return engine === "podman" ? { "/run": closed, "/var/tmp": closed } : {};
}

function binds(parts: ContainerParts): BindMount[] {
  const own = ownBinds(parts);
  const taken = [...own.map(({ target }) => target), ...Object.keys(memoryFiles(parts))];
  return [...own, ...coveredVolumes(parts.image, parts.emptyDirectory, taken)];
}

function ownBinds(parts: ContainerParts): BindMount[] {
  return [
    bind(parts.kernelDirectory, "/.kernel", true),
    ...(parts.socketDirectory === undefined ? [] : [bind(parts.socketDirectory, socketTarget, true)]),
    ...identityFiles.map((name) => bind(`${parts.identityDirectory}/${name}`, `/etc/${name}`, true)),
    ...(parts.workspace === undefined ? [] : [bind(parts.workspace, "/workspace", false)]),
    ...parts.mounts.flatMap((mount) => [
      bind(mount.source, mount.target, mount.readOnly),
      ...shownBelow(mount).map(({ path }) => bind(`${mount.source}/${path}`, `${mount.target}/${path}`, true)),
      // a mount of a directory on itself keeps it from being renamed
      ...mount.pins.map((pin) => bind(`${mount.source}/${pin}`, `${mount.target}/${pin}`, mount.readOnly)),
      ...mount.deny.map(({ path, kind }) =>
        bind(kind === "directory" ? parts.emptyDirectory : parts.emptyFile, `${mount.target}/${path}`, true),
      ),
    ]),
  ];
}

function bind(source: string, target: string, readOnly: boolean): BindMount {
  return { source, target, readOnly };
}
