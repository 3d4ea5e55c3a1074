import type { HostRoot } from "../linux/host-root.ts";
import type { PythonInstallation } from "../linux/python.ts";
import { cellHostname, cellUid, identityFiles } from "./identity-files.ts";
import type { ProcMasks } from "./proc-masks.ts";

/** Where Node hands the system call filter to bubblewrap. */
export const filterDescriptor = 3;

/** Where things are inside. Neutral names: a cell can read the mount table. */
export const insidePath = {
  kernel: "/.kernel",
  emptyFile: "/.empty-file",
  emptyDirectory: "/.empty-directory",
  socketDirectory: "/run/s",
  cgroups: "/run/cg",
  mounts: "/run/m",
  certificates: "/etc/ssl/certs/ca-certificates.crt",
} as const;

const hugePages = "/sys/kernel/mm/transparent_hugepage";

/** What both layouts need; every path is of the host. */
export interface JailPaths {
  /** the owner's tag, by which the janitor finds the process */
  readonly tag: string;
  readonly hostRoot: HostRoot;
  readonly python: PythonInstallation;
  /** holds `identityFiles` */
  readonly identityDirectory: string;
  readonly kernelDirectory: string;
  /** an empty read-only file and directory that cover what must not be seen */
  readonly emptyFile: string;
  readonly emptyDirectory: string;
  /** authorities for TLS, where the cell has a network */
  readonly certificates?: string | undefined;
  /** program and arguments inside */
  readonly command: readonly string[];
}

export interface JailMount {
  readonly source: string;
  readonly target: string;
  readonly mode: "ro" | "rw";
  readonly kind: "file" | "directory";
}

export interface TemplatePaths extends JailPaths {
  readonly socketDirectory: string;
  /** staged at `stagePath(index)`; each cell binds them to their targets with its own masks */
  readonly mounts: readonly JailMount[];
  /** directory of the host in which the cells' groups are made, per controller; none where the host moves them */
  readonly cgroups: readonly { readonly controller: string; readonly directory: string }[];
}

export interface DirectPaths extends JailPaths {
  readonly workspace:
    | { readonly kind: "private"; readonly sizeBytes: number }
    | { readonly kind: "host"; readonly source: string };
  readonly mounts: readonly JailMount[];
  /** paths inside that the policy denies, below a mount */
  readonly denied: readonly { readonly path: string; readonly kind: "file" | "directory" }[];
  readonly masks: ProcMasks;
  readonly tmpBytes: number;
  readonly sharedMemoryBytes: number;
}

/** Where the template sees the mount with this index. */
export function stagePath(index: number): string {
  return `${insidePath.mounts}/${index}`;
}

/** Pure: one jail per policy, whose process forks a cell per connection. */
export function templateArguments(paths: TemplatePaths): string[] {
  // with nsdelegate a process may move only inside its cgroup namespace: the cells get theirs after they have moved
  const movesInUnifiedTree = paths.cgroups.some(({ controller }) => controller === "unified");
  return [
    ...namespaces(paths.tag),
    ...(movesInUnifiedTree ? [] : ["--unshare-cgroup"]),
    ...root(paths),
    ...["--ro-bind", paths.emptyFile, insidePath.emptyFile],
    ...["--ro-bind", paths.emptyDirectory, insidePath.emptyDirectory],
    // unmasked: a cell could not mount its own proc if this one were covered
    ...["--proc", "/proc", "--dev", "/dev", "--dir", "/tmp", "--dir", "/workspace"],
    // the C library looks here, once, before it uses huge pages; cells cover it
    ...["--ro-bind-try", hugePages, hugePages],
    ...paths.mounts.filter(needsMountPoint).flatMap((mount) => mountPoint(mount, paths)),
    ...["--tmpfs", "/run", "--bind", paths.socketDirectory, insidePath.socketDirectory],
    ...paths.mounts.flatMap(({ source, mode }, index) => [bindFlag(mode), source, stagePath(index)]),
    ...paths.cgroups.flatMap(({ controller, directory }) => [
      ...["--bind", directory, `${insidePath.cgroups}/${controller}`],
    ]),
    ...["--remount-ro", "/dev", "--remount-ro", "/run", "--remount-ro", "/"],
    ...handover(paths, "/"),
  ];
}

/** Pure: one jail per cell, for hosts that forbid user namespaces inside user namespaces. */
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
      : ["--bind", workspace.source, "/workspace"]),
    ...["--dir", "/run"],
    ...paths.mounts.flatMap(({ source, target, mode }) => [bindFlag(mode), source, target]),
    // last, so that a deny rule wins over every mount
    ...paths.denied.flatMap(({ path, kind }) => [
      ...["--ro-bind", kind === "file" ? paths.emptyFile : paths.emptyDirectory, path],
    ]),
    ...["--remount-ro", "/dev", "--remount-ro", "/"],
    ...handover(paths, "/workspace"),
  ];
}

function namespaces(tag: string): string[] {
  return [
    ...["--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"],
    ...["--uid", String(cellUid), "--gid", String(cellUid), "--hostname", cellHostname],
    // no effect but to carry the tag in the command line
    ...["--unsetenv", tag],
    // a session of its own: no controlling terminal to type into
    ...["--die-with-parent", "--new-session"],
    // the Linux kernel shields the first process of a pid namespace from signals of the others
    ...["--as-pid-1", "--clearenv", "--cap-drop", "ALL"],
  ];
}

/** Programs and libraries of the host, read-only, and an /etc that tells nothing about it. */
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

/** Nothing secret in here: a command line is readable by everybody on the host. */
function handover({ command, python }: JailPaths, directory: string): string[] {
  return [
    ...["--setenv", "PATH", "/usr/local/bin:/usr/bin:/bin", "--setenv", "HOME", "/workspace"],
    ...["--setenv", "LANG", "C.UTF-8", "--setenv", "TMPDIR", "/tmp"],
    // a library that starts threads while it is imported makes the fork of a cell unsafe
    ...["--setenv", "OPENBLAS_NUM_THREADS", "1"],
    // huge pages for large allocations: a copy of an interpreter with 100 MB of data takes 2 ms instead of 20
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

/** Below these every cell mounts a file system of its own and makes the mount points in it. */
function needsMountPoint({ target }: JailMount): boolean {
  return !["/workspace", "/tmp", "/dev", "/run"].some((path) => target === path || target.startsWith(`${path}/`));
}

/** The root is read-only by the time a cell would make it. */
function mountPoint({ target, kind }: JailMount, { emptyFile }: TemplatePaths): string[] {
  return kind === "directory" ? ["--dir", target] : ["--ro-bind", emptyFile, target];
}
