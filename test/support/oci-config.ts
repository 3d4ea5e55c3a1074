import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { EngineKind } from "../../src/runners/container/engine/engine-address.ts";
import type { EngineClient } from "../../src/runners/container/engine/engine-client.ts";

/** What an engine gave its runtime to start a container: the parts of `config.json` that decide what a program in it can do. */
export interface OciConfig {
  readonly process: {
    readonly args: readonly string[];
    readonly cwd: string;
    readonly env?: readonly string[];
    readonly user: { readonly uid: number; readonly gid: number; readonly additionalGids?: readonly number[] };
    readonly capabilities?: Readonly<Record<string, readonly string[] | null>>;
    readonly rlimits?: readonly { readonly type: string; readonly soft: number; readonly hard: number }[];
    readonly noNewPrivileges?: boolean;
    readonly terminal?: boolean;
    readonly apparmorProfile?: string;
    readonly selinuxLabel?: string;
  };
  readonly root: { readonly readonly?: boolean };
  readonly hostname?: string;
  readonly mounts: readonly OciMount[];
  readonly linux: {
    readonly resources: Readonly<Record<string, unknown>>;
    readonly namespaces: readonly { readonly type: string; readonly path?: string }[];
    readonly devices?: readonly { readonly path: string }[] | null;
    readonly seccomp?: OciSeccomp;
    readonly maskedPaths?: readonly string[];
    readonly readonlyPaths?: readonly string[];
    readonly sysctl?: Readonly<Record<string, string>>;
    readonly uidMappings?: readonly unknown[];
  };
}

export interface OciMount {
  readonly destination: string;
  readonly type?: string;
  readonly source?: string;
  readonly options?: readonly string[];
}

export interface OciSeccomp {
  readonly defaultAction: string;
  readonly architectures?: readonly string[];
  readonly syscalls?: readonly {
    readonly names: readonly string[];
    readonly action: string;
    readonly errnoRet?: number;
    readonly args?: readonly unknown[] | null;
  }[];
}

/** Reads the configuration of a running container, from where its engine keeps it for the runtime. */
export async function ociConfigOf(client: EngineClient, kind: EngineKind, id: string): Promise<OciConfig> {
  const { State } = await client.json<{ State: { Pid: number } }>({ path: `/containers/${id}/json` });
  const status = await readFile(`/proc/${State.Pid}/status`, "utf8");
  const [, monitor = ""] = /^PPid:\s+(\d+)$/m.exec(status) ?? [];
  // containerd's shim works in the directory of the container; Podman's names it in its command line
  const text = await readFile(
    join(kind === "docker" ? `/proc/${monitor}/cwd` : await bundleOf(monitor), "config.json"),
  );
  return JSON.parse(text.toString()) as OciConfig;
}

/** The path as conmon sees it, which has the mount namespace of its engine. */
async function bundleOf(conmon: string): Promise<string> {
  const argv = (await readFile(`/proc/${conmon}/cmdline`, "utf8")).split("\0");
  return `/proc/${conmon}/root${argv[argv.indexOf("-b") + 1]}`;
}

/** Flags of a mount that a program can notice. Others say how it is made, or are the default of the Linux kernel. */
const flags = new Set(["ro", "nosuid", "nodev", "noexec"]);
/** Mounts that an engine makes of its own accord, with its own options. Nothing of the host is in them. */
const ofEngine = new Set([
  "/dev",
  "/dev/mqueue",
  "/dev/pts",
  "/dev/shm",
  "/proc",
  "/sys",
  "/sys/fs/cgroup",
  "/etc/hostname",
]);
/** Podman would make these writable, so codecell covers them. In Docker they are part of the read-only root. */
const coveredInPodman = new Set(["/run", "/var/tmp"]);

/**
 * What two configurations must share. Left out is what codecell does not rely on: each engine has a filter of system calls and
 * variables of its own, which codecell's filter and its supervisor replace; Podman limits no inodes and makes no namespace of control
 * groups on cgroup v1, which receipts do not claim. `directory`: holds what the mounts show.
 */
export function comparable({ process, root, hostname, mounts, linux }: OciConfig, directory: string): unknown {
  const { memory, cpu, pids, devices } = linux.resources as Record<string, Record<string, unknown> | undefined>;
  const { uid, gid, additionalGids = [] } = process.user;
  return {
    isPython: /\/python[\d.]*$/.test(process.args[0] ?? ""), // each image may have another
    args: process.args.slice(1).map((arg) => withoutPlace(arg, directory)),
    cwd: process.cwd,
    hostname,
    terminal: process.terminal ?? false,
    user: { isRoot: uid === 0 || gid === 0, hasOtherGroups: additionalGids.some((one) => one !== gid) },
    capabilities: Object.values(process.capabilities ?? {}).flatMap((held) => held ?? []),
    noNewPrivileges: process.noNewPrivileges,
    rlimits: [...(process.rlimits ?? [])].sort((a, b) => a.type.localeCompare(b.type)),
    isReadOnly: root.readonly,
    namespaces: linux.namespaces.filter(({ type }) => type !== "cgroup").sort((a, b) => a.type.localeCompare(b.type)),
    memory: { limit: memory?.limit, swap: memory?.swap },
    cpu: { quota: cpu?.quota, period: cpu?.period },
    pids: pids?.limit,
    firstDeviceRule: (devices as unknown as unknown[] | undefined)?.[0],
    devices: (linux.devices ?? []).map(({ path }) => path),
    filter: linux.seccomp?.defaultAction,
    users: linux.uidMappings ?? [],
    mounts: mounts
      .filter(({ destination }) => !coveredInPodman.has(destination) && !ofEngine.has(destination))
      .map((mount) => comparableMount(mount, directory))
      .sort((a, b) => a.destination.localeCompare(b.destination)),
    engineMounts: mounts
      .map(({ destination }) => destination)
      .filter((one) => ofEngine.has(one))
      .sort(),
    areFixed: mounts.filter(({ destination }) => coveredInPodman.has(destination)).every(isReadOnly),
  };
}

function comparableMount({ destination, type = "", source = "", options = [] }: OciMount, directory: string) {
  const size = options.find((option) => option.startsWith("size="));
  const shown = type === "bind" ? withoutPlace(source, directory) : "";
  const noticed = options.filter((option) => flags.has(option)).sort();
  const isShared = options.some((option) => /^r?(?:shared|slave)$/.test(option));
  return { destination, type, shown, options: [...noticed, ...(size === undefined ? [] : [size])], isShared };
}

function isReadOnly({ type, options = [] }: OciMount): boolean {
  return type === "tmpfs" && options.includes("ro");
}

/** A path or text without what differs from cell to cell: the engine's own directory, and names with the numbers of a cell, an image or a user. */
function withoutPlace(text: string, directory: string): string {
  return text
    .replaceAll(directory, "")
    .replaceAll(/\/(?:docker|podman)\//g, "/")
    .replaceAll(/(container|kernel)-[0-9a-f]+/g, "$1")
    .replaceAll(/etc-\d+/g, "etc");
}
