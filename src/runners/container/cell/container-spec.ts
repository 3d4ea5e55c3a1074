import type { Policy } from "../../../policy/schema.ts";
import { largestFileBytes } from "../../disk-rule.ts";
import { kernelBootstrap } from "../../kernel-bootstrap.ts";
import { identityFiles } from "../../linux/identity-texts.ts";
import { kernelProcesses } from "../../linux/kernel-processes.ts";
import type { ClosedEntries } from "../../linux/mounts/closed-entries.ts";
import { hiddenPaths } from "../../linux/mounts/hidden-paths.ts";
import type { CellMount } from "../../linux/mounts/mounts.ts";
import { socketLimits } from "../../linux/socket-limits.ts";
import type { EngineKind } from "../engine/engine-address.ts";
import type { ImageInEngine } from "../image/image-list.ts";
import { coveredVolumes } from "../image/image-volumes.ts";
import { type BindMount, mountFields } from "./bind-mounts.ts";
import { listenerName } from "./cell-listener.ts";
import { shownBelow } from "./nested-binds.ts";

/** Sizes of the cell's own files in memory, whatever the policy says. */
export const scratchBytes = { tmp: 64 * 1024 * 1024, shared: 64 * 1024 * 1024 } as const;
const inodes = { tmp: 8192, workspace: 16_384 } as const;
/**
 * A virtual OS kernel such as gVisor's uses many host threads for each process of the program, and crashes if it gets none. A fork
 * bomb under `proc.pids: 48` had 3,780 of them. `proc.pids` itself is enforced inside the cell.
 */
export function ownKernelThreads(pids: number): number {
  return Math.min(16_384, Math.max(2048, 128 * pids));
}

/** Numbers of resource limits on Linux, the same on every supported machine. */
const rlimit = { sigpending: 11, msgqueue: 12, nice: 13, rtprio: 14 } as const;

const socketTarget = "/.channel";
/** more than programs can leave in flight while the Linux kernel checks several of them at once */
const headroom = 4096;

const bootstrap = kernelBootstrap("container");

const fixedPaths = ["/proc/sys", "/proc/sysrq-trigger"];

export interface ContainerParts extends ClosedEntries {
  readonly policy: Policy;
  readonly engine: EngineKind;
  readonly image: ImageInEngine;
  /** the interpreter inside the image */
  readonly python: string;
  /** the engine's name of a runtime other than its default: runsc, kata */
  readonly runtime: string | undefined;
  /** the cell has its own OS kernel, so processes and memory are counted inside it */
  readonly hasOwnKernel: boolean;
  readonly user: { readonly uid: number; readonly gid: number };
  readonly mounts: readonly CellMount[];
  /** the session's own directory on the host */
  readonly workspace: string | undefined;
  /** the workspace holds far more than the cell may write */
  readonly isReadOnly: boolean;
  readonly kernelDirectory: string;
  readonly identityDirectory: string;
  /** host directory with the socket that the cell connects to; undefined: the cell uses its standard streams */
  readonly socketDirectory: string | undefined;
  readonly emptyDirectory: string;
  readonly labels: Readonly<Record<string, string>>;
  /** device and inode numbers of mounts are the same in the cell */
  readonly checksIdentities: boolean;
  /** name of codecell's system call filter in /.kernel */
  readonly filter: string | undefined;
  /** how many processes a user of this host may have; undefined: unlimited */
  readonly processLimit: number | undefined;
  /** the engine can limit the buffers of TCP and UDP sockets, which the memory limit does not count then */
  readonly limitsSockets: boolean;
  /** open files that the host allows a process of codecell */
  readonly fileLimit: number | undefined;
  /** processors of the engine's machine; undefined: unknown */
  readonly processors: number | undefined;
  /** turn off the engine's user namespace, because host directories belong to host users */
  readonly usesHostUsers: boolean;
  /** turn off SELinux labels, because host directories have labels that containers may not read */
  readonly usesHostLabels: boolean;
}

/** Pure: the Engine API request for the container of a policy. */
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
    StdinOnce: true, // the container exits when its host process does, even if the host process was killed
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: true,
    Tty: false,
    StopSignal: "SIGKILL", // an engine that shuts down or restarts does not wait for the cell to exit
    NetworkDisabled: true,
    Healthcheck: { Test: ["NONE"] },
    HostConfig: {
      ...(parts.runtime === undefined ? {} : { Runtime: parts.runtime }),
      ...(parts.usesHostUsers ? { UsernsMode: "host" } : {}),
      AutoRemove: true,
      NetworkMode: "none",
      // hides the host's name servers and search domains from the cell
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
      PidsLimit: proc.pids + kernelProcesses + (parts.hasOwnKernel ? ownKernelThreads(proc.pids) : 0),
      Memory: containerMemoryBytes(parts),
      MemorySwap: containerMemoryBytes(parts),
      ...(parts.limitsSockets && !parts.hasOwnKernel
        ? { KernelMemoryTCP: socketLimits(proc.memoryBytes).limitBytes }
        : {}),
      // Docker rejects a limit above the number of processors
      NanoCpus: Math.round(Math.min(proc.cpus, parts.processors ?? proc.cpus) * 1e9),
      Ulimits: [
        { Name: "nofile", Soft: proc.files, Hard: supervisorFiles(proc.files, parts.fileLimit) },
        { Name: "core", Soft: 0, Hard: 0 },
        // stops a fork bomb in gVisor, for which the supervisor's count is too slow
        ...inheritedLimits(parts.hasOwnKernel ? proc.pids + kernelProcesses : parts.processLimit),
      ],
      ShmSize: scratchBytes.shared,
      Tmpfs: memoryFiles(parts),
      ...mountFields(parts.engine, binds(parts)),
      MaskedPaths: hiddenPaths, // Podman ignores this field and gets the list as a security option
      ReadonlyPaths: fixedPaths,
      LogConfig: { Type: "none", Config: {} }, // keeps the cell's output out of the engine's logs, where it could fill the disk
      Init: false, // the supervisor is pid 1 and reaps
    },
  };
}

/** Without this option, SELinux stops the cell from reading the kernel's files and the policy's mounts. */
export function hostLabels(usesHostLabels: boolean): string[] {
  return usesHostLabels ? ["label=disable"] : [];
}

/**
 * The supervisor can pass descriptors although programs have as many in flight as their limit of open files allows. The worker
 * gives the higher limit up before it runs user code.
 */
function supervisorFiles(files: number, fileLimit = 0): number {
  return Math.max(files, Math.min(2 * files + headroom, fileLimit));
}

/** Podman's default is above what a host with a limit on processes per user allows. `proc.pids` is enforced elsewhere. */
export function inheritedLimits(processLimit: number | undefined) {
  return processLimit === undefined ? [] : [{ Name: "nproc", Soft: processLimit, Hard: processLimit }];
}

/** Includes the files in tmpfs. They count as the cell's memory and survive a kill, so a full /tmp would kill every later run. */
export function containerMemoryBytes({ policy, workspace, hasOwnKernel }: ContainerParts): number {
  const files = memoryFilesBytes(policy, workspace !== undefined);
  return policy.proc.memoryBytes + files + (hasOwnKernel ? ownKernelBytes : 0);
}

/** Total size of the file systems in memory. */
export function memoryFilesBytes({ fs, proc }: Policy, hasSessionDirectory: boolean): number {
  const isOnDisk = fs.workspace !== undefined || hasSessionDirectory;
  return scratchBytes.tmp + scratchBytes.shared + (isOnDisk ? 0 : proc.diskBytes);
}

/** Memory that a virtual OS kernel needs for itself and for each interpreter. */
export const ownKernelBytes = 256 * 1024 * 1024;

function cellSettings(parts: ContainerParts) {
  const { proc } = parts.policy;
  return {
    files: proc.files,
    writes: !parts.isReadOnly,
    fileBytes: largestFileBytes(parts.policy),
    ...(proc.exactDisk ? { roomBytes: proc.diskBytes } : {}),
    guard: !parts.hasOwnKernel,
    filter: parts.filter ?? "",
    socket: parts.socketDirectory === undefined ? "" : `${socketTarget}/${listenerName}`,
    targets: parts.mounts.map(({ target }) => target),
    identities: parts.checksIdentities ? parts.mounts.map(({ target, identity }) => ({ target, identity })) : [],
    nested: parts.checksIdentities ? parts.mounts.flatMap(nestedIdentities) : [],
    // gVisor lacks message queues and priorities, and therefore their limits
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
  // Podman supports neither owners nor a number of inodes here. Inodes count as memory of the cell, and the cell has one
  // user. Without `notmpcopyup`, Podman copies the image's directory, with its owner and mode, over the mount.
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

/** Podman makes these directories writable without a limit on a read-only root, unless something is mounted there. */
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
    // gVisor has a driver for virtual network interfaces, which no program needs
    ...(parts.hasOwnKernel ? [bind(parts.emptyDirectory, "/dev/net", true)] : []),
    ...identityFiles.map((name) => bind(`${parts.identityDirectory}/${name}`, `/etc/${name}`, true)),
    ...(parts.workspace === undefined ? [] : [bind(parts.workspace, "/workspace", parts.isReadOnly)]),
    ...parts.mounts.flatMap((mount) => [
      bind(mount.source, mount.target, mount.readOnly),
      ...shownBelow(mount).map(({ path }) => bind(`${mount.source}/${path}`, `${mount.target}/${path}`, true)),
      // stops the cell from renaming the directory, because a mount point cannot be renamed
      ...mount.pins.map((pin) => bind(`${mount.source}/${pin}`, `${mount.target}/${pin}`, mount.readOnly)),
      ...mount.deny.map(({ path, kind }) =>
        bind(kind === "directory" ? parts.closedDirectory : parts.closedFile, `${mount.target}/${path}`, true),
      ),
    ]),
  ];
}

function bind(source: string, target: string, readOnly: boolean): BindMount {
  return { source, target, readOnly };
}
