import { existsSync } from "node:fs";
import type { V1Container, V1Pod } from "@kubernetes/client-node";
import type { HostRoot } from "../../../../src/runners/linux/mounts/host-root.ts";
import type { CgroupPlacement } from "../../../../src/runners/process/cgroup/cell-cgroup.ts";
import type { PodMount } from "./pod-volumes.ts";

export interface ContainerParts {
  readonly pod: V1Pod;
  readonly container: V1Container;
  readonly root: HostRoot;
  readonly mounts: readonly PodMount[];
  readonly cgroup: readonly CgroupPlacement[];
  /** files of /etc that a kubelet writes, by path */
  readonly etc: ReadonlyMap<string, string>;
  /** host file of the container's termination log */
  readonly messageFile: string;
  /** true: it is in the pod's network namespace already */
  readonly keepsNetwork: boolean;
  readonly isRoot: boolean;
  readonly env: ReadonlyMap<string, string>;
}

const nobody = 65_534;
/** The container's first process writes to this descriptor when its mounts are there, right before its program begins. */
export const begunFd = 4;
const begin = `echo begun >&${begunFd} && exec "$@" ${begunFd}>&-`;
/** What containerd hides, as far as this machine has it. */
const masked = ["/proc/kcore", "/proc/keys", "/proc/timer_list", "/proc/latency_stats"].filter((path) =>
  existsSync(path),
);

/** Pure: the flags of `bwrap` and the command of a container. The host's /usr is the image. */
export function bubblewrapArguments(parts: ContainerParts): string[] {
  const { pod, container, root, mounts, cgroup, etc, env } = parts;
  const user = userOf(pod, container);
  const isReadOnly = container.securityContext?.readOnlyRootFilesystem === true;
  return [
    ...["--die-with-parent", "--new-session", "--unshare-pid", "--as-pid-1", "--unshare-ipc", "--unshare-uts"],
    ...["--unshare-cgroup-try", "--hostname", hostnameOf(pod)],
    ...(parts.keepsNetwork ? [] : ["--unshare-net"]),
    // only root can become another user: elsewhere the user is the caller under another number
    ...(parts.isRoot ? [] : ["--unshare-user", "--uid", String(user.uid), "--gid", String(user.gid)]),
    "--clearenv",
    ...[...env].flatMap(([name, value]) => ["--setenv", name, value]),
    ...["--ro-bind", "/usr", "/usr"],
    ...root.links.flatMap(({ path, target }) => ["--symlink", target, path]),
    ...root.directories.flatMap((path) => ["--ro-bind", path, path]),
    ...root.etc.flatMap((path) => ["--ro-bind", path, path]),
    ...[...etc].flatMap(([target, source]) => ["--ro-bind", source, target]),
    ...["--proc", "/proc", "--dev", "/dev"],
    ...masked.flatMap((path) => ["--ro-bind", "/dev/null", path]),
    ...cgroup.flatMap(({ controller, path }) => [
      ...["--ro-bind", path, controller === "unified" ? "/sys/fs/cgroup" : `/sys/fs/cgroup/${controller}`],
    ]),
    ...(mounts.some(({ target }) => target === "/tmp") ? [] : ["--perms", "1777", "--dir", "/tmp"]),
    ...["--bind", parts.messageFile, container.terminationMessagePath ?? "/dev/termination-log"],
    ...mounts.flatMap(mountArguments),
    ...(isReadOnly ? ["--remount-ro", "/"] : []),
    ...["--chdir", container.workingDir ?? "/", "--info-fd", "3", "--"],
    ...(parts.isRoot ? becomeUser(pod, user) : []),
    ...["/bin/sh", "-c", begin, "sh"],
    ...["env", "-i", ...[...env].map(([name, value]) => `${name}=${value}`)], // without what the shell has added
    ...[...(container.command ?? []), ...(container.args ?? [])].map((one) => expanded(one, env)),
  ];
}

export const hostnameOf = ({ metadata, spec }: V1Pod): string =>
  (spec?.hostname ?? metadata?.name ?? "pod").slice(0, 63);

/** `$(NAME)` is a variable of the container; `$$(NAME)` is not. */
function expanded(text: string, env: ReadonlyMap<string, string>): string {
  return text.replace(/\$\$|\$\(([^)]*)\)/g, (found, name?: string) => {
    if (name === undefined) return "$";
    return env.get(name) ?? found;
  });
}

function mountArguments(mount: PodMount): string[] {
  if (mount.kind === "bind") return [mount.isReadOnly ? "--ro-bind" : "--bind", mount.source, mount.target];
  const made = ["--perms", "0777", "--size", String(mount.sizeBytes), "--tmpfs", mount.target];
  return mount.isReadOnly ? [...made, "--remount-ro", mount.target] : made;
}

/** The number that a container runs under. The image's own user is root. */
export function userOf({ spec }: V1Pod, { securityContext }: V1Container): { uid: number; gid: number } {
  const uid = securityContext?.runAsUser ?? spec?.securityContext?.runAsUser ?? 0;
  return { uid, gid: securityContext?.runAsGroup ?? spec?.securityContext?.runAsGroup ?? (uid === 0 ? 0 : nobody) };
}

/** Every container loses all capabilities, whatever it asks for. */
export function becomeUser(pod: V1Pod, { uid, gid }: { uid: number; gid: number }): string[] {
  const { spec } = pod;
  const hasOwnUsers = spec?.hostUsers === false;
  const onNode = (id: number) => (hasOwnUsers ? hostIdOf(pod, id) : id);
  const groups = [...(spec?.securityContext?.supplementalGroups ?? []), spec?.securityContext?.fsGroup ?? []].flat();
  return [
    ...["setpriv", `--reuid=${onNode(uid)}`, `--regid=${onNode(gid)}`],
    groups.length === 0 ? "--clear-groups" : `--groups=${groups.map(onNode).join(",")}`,
    ...["--inh-caps=-all", "--bounding-set=-all", "--no-new-privs"],
    "--pdeathsig=KILL", // becoming another user has undone bubblewrap's --die-with-parent
    "--",
    ...(hasOwnUsers ? ["unshare", "--user", `--map-user=${uid}`, `--map-group=${gid}`, "--"] : []),
  ];
}

/** As a kubelet gives each pod a range of ids of its own on its node. */
function hostIdOf({ metadata }: V1Pod, id: number): number {
  return 1_600_000_000 + Number.parseInt(metadata?.uid?.slice(0, 6) ?? "0", 16) + (id % 16);
}
