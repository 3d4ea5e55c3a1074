import { dirname } from "node:path";
import type { ClosedEntries } from "../linux/mounts/closed-entries.ts";
import type { HostRoot } from "../linux/mounts/host-root.ts";
import type { PythonInstallation } from "../linux/python/python.ts";
import { cellHostname, cellUid, identityFiles } from "./identity-files.ts";
import type { ProcMasks } from "./proc-masks.ts";
import { mappingArguments } from "./user-map.ts";

/** The descriptor on which Node passes the system call filter to bubblewrap. */
export const filterDescriptor = 3;

/** Paths inside the jail. The names are neutral, because a cell can read the mount table. */
export const insidePath = {
  kernel: "/.kernel",
  emptyFile: "/.empty-file",
  emptyDirectory: "/.empty-directory",
  closedFile: "/.closed-file",
  closedDirectory: "/.closed-directory",
  socketDirectory: "/run/s",
  cgroups: "/run/cg",
  mounts: "/run/m",
  certificates: "/etc/ssl/certs/ca-certificates.crt",
} as const;

/** Size of the template's own /tmp. */
const templateTmpBytes = 16 * 1024 * 1024;

const hugePages = "/sys/kernel/mm/transparent_hugepage";

/** What both layouts need. All paths are host paths. */
export interface JailPaths extends ClosedEntries {
  /** the owner's tag, which the janitor uses to find the process */
  readonly tag: string;
  readonly hostRoot: HostRoot;
  readonly python: PythonInstallation;
  /** holds `identityFiles` */
  readonly identityDirectory: string;
  readonly kernelDirectory: string;
  /** an empty read-only file and directory, to cover paths of /proc and mount points */
  readonly emptyFile: string;
  readonly emptyDirectory: string;
  /** certificate authorities for TLS, if the cell has a network */
  readonly certificates?: string | undefined;
  /** program and arguments to run in the jail */
  readonly command: readonly string[];
}

export interface JailMount {
  readonly source: string;
  readonly target: string;
  readonly mode: "ro" | "rw";
  readonly kind: "file" | "directory";
}

export interface TemplatePaths extends JailPaths {
  /** each cell gets its own uid: see `mapUsers` */
  readonly mapsUsers: boolean;
  readonly socketDirectory: string;
  /** staged at `stagePath(index)`; each cell mounts them at their targets with its own masks */
  readonly mounts: readonly JailMount[];
  /** host directory of the cells' cgroups, per controller; empty if the host moves the cells into their cgroups */
  readonly cgroups: readonly { readonly controller: string; readonly directory: string }[];
}

export interface DirectPaths extends JailPaths {
  readonly workspace:
    | { readonly kind: "private"; readonly sizeBytes: number }
    | { readonly kind: "host"; readonly source: string; readonly mode: "ro" | "rw" };
  readonly mounts: readonly JailMount[];
  /** paths in mounts that the policy denies */
  readonly denied: readonly { readonly path: string; readonly kind: "file" | "directory" }[];
  readonly masks: ProcMasks;
  readonly tmpBytes: number;
  readonly sharedMemoryBytes: number;
}

/** The path in the template of the mount with this index. */
export function stagePath(index: number): string {
  return `${insidePath.mounts}/${index}`;
}

/** Pure: the arguments for one jail per policy, whose process forks a cell for each connection. */
export function templateArguments(paths: TemplatePaths): string[] {
  // with nsdelegate, a process can move only inside its cgroup namespace, so cells unshare theirs after moving
  const movesInUnifiedTree = paths.cgroups.some(({ controller }) => controller === "unified");
  const args = [
    ...namespaces(paths.tag),
    ...(movesInUnifiedTree ? [] : ["--unshare-cgroup"]),
    ...(paths.mapsUsers ? mappingArguments : []),
    ...root(paths),
    ...["--ro-bind", paths.emptyFile, insidePath.emptyFile],
    ...["--ro-bind", paths.emptyDirectory, insidePath.emptyDirectory],
    ...["--ro-bind", paths.closedFile, insidePath.closedFile],
    ...["--ro-bind", paths.closedDirectory, insidePath.closedDirectory],
    // without masks, because the Linux kernel lets a cell mount its own proc only if this one has none
    ...["--proc", "/proc", "--dev", "/dev", "--dir", "/workspace"],
    // for modules that need temporary files when they are imported; each cell covers it with its own
    ...sizedTmpfs("/tmp", templateTmpBytes, "0700"),
    // the C library reads this once before it uses huge pages; cells cover it
    ...["--ro-bind-try", hugePages, hugePages],
    ...paths.mounts.filter(needsMountPoint).flatMap((mount) => mountPoint(mount, paths)),
    ...["--tmpfs", "/run", "--bind", paths.socketDirectory, insidePath.socketDirectory],
    ...paths.mounts.flatMap(({ source, mode }, index) => [bindFlag(mode), source, stagePath(index)]),
    ...paths.cgroups.flatMap(({ controller, directory }) => [
      ...["--bind", directory, `${insidePath.cgroups}/${controller}`],
    ]),
    ...["--remount-ro", "/dev", "--remount-ro", "/run", "--remount-ro", "/"],
  ];
  return [...(paths.mapsUsers ? withOpenParents(args) : args), ...handover(paths, "/")];
}

/** Creates the directories above mounts first. bubblewrap would close them to every uid but its own, and cells have others. */
function withOpenParents(args: readonly string[]): string[] {
  const made = new Set(["/"]);
  return args.flatMap((arg, index) => {
    const target = ["--ro-bind", "--ro-bind-try", "--bind", "--symlink"].includes(arg) ? args[index + 2] : undefined;
    if (target === undefined) return [arg];
    const missing: string[] = [];
    for (let above = dirname(target); !made.has(above); above = dirname(above)) {
      made.add(above);
      missing.unshift(above);
    }
    return [...missing.flatMap((path) => ["--dir", path]), arg];
  });
}

/** Pure: the arguments for one jail per cell, for hosts that forbid nested user namespaces. */
export function directArguments(paths: DirectPaths): string[] {
  const { workspace } = paths;
  return [
    ...namespaces(paths.tag),
    ...["--unshare-cgroup", "--disable-userns"],
    ...root(paths),
    ...["--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys"],
    ...paths.masks.files.flatMap((path) => ["--ro-bind", paths.emptyFile, path]),
    ...paths.masks.directories.flatMap((path) => ["--ro-bind", paths.emptyDirectory, path]),
    ...["--dev", "/dev", ...sizedTmpfs("/dev/shm", paths.sharedMemoryBytes, "1777")],
    ...sizedTmpfs("/tmp", paths.tmpBytes, "1777"),
    ...(workspace.kind === "private"
      ? sizedTmpfs("/workspace", workspace.sizeBytes, "0755")
      : [bindFlag(workspace.mode), workspace.source, "/workspace"]),
    ...["--dir", "/run"],
    ...paths.mounts.flatMap(({ source, target, mode }) => [bindFlag(mode), source, target]),
    // last, so that deny rules override every mount
    ...paths.denied.flatMap(({ path, kind }) => [
      ...["--ro-bind", kind === "file" ? paths.closedFile : paths.closedDirectory, path],
    ]),
    ...["--remount-ro", "/dev", "--remount-ro", "/"],
    ...handover(paths, "/workspace"),
  ];
}

function namespaces(tag: string): string[] {
  return [
    ...["--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"],
    ...["--uid", String(cellUid), "--gid", String(cellUid), "--hostname", cellHostname],
    // only puts the tag into the command line
    ...["--unsetenv", tag],
    // its own session, so that code cannot type into the user's terminal
    ...["--die-with-parent", "--new-session"],
    // the Linux kernel protects pid 1 of a pid namespace from signals of the other processes
    ...["--as-pid-1", "--clearenv", "--cap-drop", "ALL"],
  ];
}

/** Programs and libraries of the host, read-only, and an /etc that reveals nothing about the host. */
function root({ hostRoot, python, identityDirectory, kernelDirectory, certificates }: JailPaths): string[] {
  return [
    ...["--ro-bind", "/usr", "/usr"],
    ...hostRoot.links.flatMap(({ path, target }) => ["--symlink", target, path]),
    ...[...hostRoot.directories, ...hostRoot.etc].flatMap((path) => ["--ro-bind", path, path]),
    ...Object.keys(identityFiles).flatMap((name) => ["--ro-bind", `${identityDirectory}/${name}`, `/etc/${name}`]),
    ...python.mounts.flatMap(({ source, target }) => ["--ro-bind", source, target]),
    ...["--ro-bind", kernelDirectory, insidePath.kernel],
    ...(certificates === undefined ? [] : ["--ro-bind", certificates, insidePath.certificates]),
  ];
}

/** Must not contain secrets, because every user of the host can read a command line. */
function handover({ command, python }: JailPaths, directory: string): string[] {
  return [
    ...["--setenv", "PATH", "/usr/local/bin:/usr/bin:/bin", "--setenv", "HOME", "/workspace"],
    ...["--setenv", "LANG", "C.UTF-8", "--setenv", "TMPDIR", "/tmp"],
    // a library that starts threads on import makes the fork of a cell unsafe
    ...["--setenv", "OPENBLAS_NUM_THREADS", "1"],
    // huge pages for large allocations: forking an interpreter with 100 MB of data takes 2 ms instead of 20
    ...["--setenv", "GLIBC_TUNABLES", "glibc.malloc.hugetlb=1"],
    ...(python.libraryPath === undefined ? [] : ["--setenv", "LD_LIBRARY_PATH", python.libraryPath]),
    ...["--chdir", directory],
    ...["--seccomp", String(filterDescriptor), "--", ...command],
  ];
}

function bindFlag(mode: "ro" | "rw"): string {
  return mode === "ro" ? "--ro-bind" : "--bind";
}

function sizedTmpfs(path: string, bytes: number, mode: string): string[] {
  return ["--perms", mode, "--size", String(bytes), "--tmpfs", path];
}

/** False for targets in file systems that each cell mounts itself, because the cell creates those mount points. */
function needsMountPoint({ target }: JailMount): boolean {
  return !["/workspace", "/tmp", "/dev", "/run"].some((path) => target === path || target.startsWith(`${path}/`));
}

/** Created here, because the root is read-only when a cell starts. */
function mountPoint({ target, kind }: JailMount, { emptyFile }: TemplatePaths): string[] {
  return kind === "directory" ? ["--dir", target] : ["--ro-bind", emptyFile, target];
}
