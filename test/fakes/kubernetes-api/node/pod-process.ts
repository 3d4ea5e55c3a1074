import { type ChildProcess, spawn } from "node:child_process";
import { chmod, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Duplex, Readable } from "node:stream";
import type { V1ConfigMap, V1Container, V1Pod } from "@kubernetes/client-node";
import { Cleanup } from "../../../../src/lib/cleanup.ts";
import { findHostRoot } from "../../../../src/runners/linux/mounts/host-root.ts";
import { type CellCgroup, createCellCgroup } from "../../../../src/runners/process/cgroup/cell-cgroup.ts";
import type { CgroupSupport } from "../../../../src/runners/process/cgroup/cgroup.ts";
import { begunFd, bubblewrapArguments, hostnameOf } from "./bubblewrap-arguments.ts";
import { ContainerStreams } from "./container-streams.ts";
import { prepareMounts } from "./pod-volumes.ts";
import { parseQuantity } from "./quantity.ts";

/** How a container ended. */
export interface ContainerExit {
  readonly exitCode: number;
  /** the OS killed a process of it for its memory */
  readonly hasRunOutOfMemory: boolean;
  /** what it wrote to its termination log */
  readonly message: string;
}

export interface PodProcessParts {
  readonly pod: V1Pod;
  readonly container: V1Container;
  /** the pod's own directory; it is removed with the process */
  readonly directory: string;
  readonly findConfigMap: (name: string) => V1ConfigMap | undefined;
  readonly cgroups: CgroupSupport;
  readonly cgroupName: string;
  readonly env: ReadonlyMap<string, string>;
  /** Gives a process that waits for it the pod's network; undefined: the pod has nothing but loopback. */
  readonly plug: ((pid: number) => Promise<void>) | undefined;
}

interface StartedParts {
  readonly cgroup: CellCgroup | undefined;
  readonly messageFile: string;
  /** bubblewrap's outer process is in the pod's network */
  readonly hasNetwork: boolean;
  readonly cleanup: Cleanup;
}

const isRoot = process.getuid?.() === 0;
const unlimited = { memoryBytes: 2 ** 40, pids: 4096, cpus: 64 };
/** Every pod learns where the API server would be, also without service links. Here nothing listens there. */
const serviceEnv: readonly (readonly [string, string])[] = [
  ["KUBERNETES_SERVICE_HOST", "10.96.0.1"],
  ["KUBERNETES_SERVICE_PORT", "443"],
  ["KUBERNETES_PORT", "tcp://10.96.0.1:443"],
];
const maxMessageCharacters = 4096;
const searchPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** The processes of a pod's container, in namespaces of their own. Disposing kills them and removes every trace. */
export class PodProcess implements AsyncDisposable {
  readonly streams: ContainerStreams;
  readonly exited: Promise<ContainerExit>;
  /** pid of the container's first process, on the host */
  readonly pid: number;
  /** pid of a process that stays in the pod's network, whatever the container's processes do */
  readonly networkPid: number;
  readonly #child: ChildProcess;
  readonly #cleanup: Cleanup;

  private constructor(child: ChildProcess, pid: number, { cgroup, messageFile, hasNetwork, cleanup }: StartedParts) {
    const { stdin, stdout, stderr } = child;
    if (stdin === null || stdout === null || stderr === null) throw new Error("a container without streams");
    this.#child = child;
    this.pid = pid;
    this.networkPid = hasNetwork ? (child.pid ?? pid) : pid;
    this.#cleanup = cleanup;
    this.streams = new ContainerStreams(stdin, stdout, stderr);
    this.exited = new Promise((resolve) => {
      child.once("close", (code, signal) => {
        void Promise.all([cgroup?.usage(), readFile(messageFile, "utf8")]).then(([usage, message]) => {
          const exitCode = code ?? 128 + (signal === "SIGKILL" ? 9 : 15);
          const hasRunOutOfMemory = (usage?.oomKills ?? 0) > 0;
          resolve({ exitCode, hasRunOutOfMemory, message: message.slice(0, maxMessageCharacters) });
        });
      });
    });
  }

  static async start(parts: PodProcessParts): Promise<PodProcess> {
    const { pod, container, directory, cgroups } = parts;
    await using cleanup = new Cleanup();
    await mkdir(directory, { recursive: true, mode: 0o755 });
    cleanup.defer(() => rm(directory, { recursive: true, force: true }));
    const mounts = await prepareMounts(pod, container, directory, parts.findConfigMap);
    const etc = await writeEtc(pod, directory);
    const messageFile = join(directory, "termination-log");
    await writeFile(messageFile, "");
    await chmod(messageFile, 0o666);
    const cgroup =
      cgroups.kind === "none" ? undefined : await createCellCgroup(cgroups, parts.cgroupName, limitsOf(container));
    if (cgroup !== undefined) cleanup.defer(() => cgroup[Symbol.asyncDispose]());
    const placement = cgroup?.placement ?? [];
    const flags = bubblewrapArguments({
      ...{ pod, container, root: findHostRoot(), mounts, cgroup: placement, etc, messageFile, isRoot },
      keepsNetwork: parts.plug !== undefined,
      env: new Map([["PATH", searchPath], ["HOSTNAME", hostnameOf(pod)], ...serviceEnv, ...parts.env]),
    });
    // the shell moves itself into the groups, so that every process of the container is in them from its start
    const steps = placement.map(({ path, file }) => `echo 0 >'${path}/${file}'`);
    if (parts.plug !== undefined) steps.push("echo ready >&3", "read -r _ <&3");
    const own = parts.plug === undefined ? [] : ["unshare", "--net", "--"];
    const shell = [...own, "/bin/sh", "-c", [...steps, 'exec "$@"'].join(" && "), "sh"];
    const [program = "", ...rest] = [...shell, "bwrap", ...flags];
    const child = spawn(program, rest, { stdio: ["pipe", "pipe", "pipe", "pipe", "pipe"], env: { PATH: searchPath } });
    cleanup.defer(() => killed(child));
    const pid = await childPid(child, parts.plug);
    const hasNetwork = parts.plug !== undefined;
    const started = new PodProcess(child, pid, { cgroup, messageFile, hasNetwork, cleanup: cleanup.move() });
    if (await hasBegun(child)) return started;
    await started[Symbol.asyncDispose]();
    throw new Error(`bubblewrap did not start the container: ${started.streams.log()}`);
  }

  signal(name: "SIGTERM" | "SIGKILL"): void {
    try {
      process.kill(this.pid, name);
    } catch {
      // it has exited
    }
    if (name === "SIGKILL") this.#child.kill("SIGKILL");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.signal("SIGKILL");
    await this.exited;
    await this.#cleanup[Symbol.asyncDispose]();
  }
}

function limitsOf({ resources }: V1Container) {
  const memoryBytes = parseQuantity(resources?.limits?.memory) ?? unlimited.memoryBytes;
  const cpus = parseQuantity(resources?.limits?.cpu) ?? unlimited.cpus;
  return { memoryBytes, socketBytes: memoryBytes, pids: unlimited.pids, cpus };
}

/** Lets the container begin when its network is there. Returns the pid that bubblewrap tells. */
async function childPid(child: ChildProcess, plug: PodProcessParts["plug"]): Promise<number> {
  const talk = child.stdio[3] as Duplex; // a socket: both sides write
  let text = "";
  for await (const chunk of talk) {
    text += chunk;
    if (text === "ready\n" && plug !== undefined && child.pid !== undefined) {
      await plug(child.pid);
      talk.write("go\n");
    }
    if (text.includes("}")) break;
  }
  const pid = Number(/"child-pid":\s*(\d+)/.exec(text)?.[1]);
  if (Number.isInteger(pid)) return pid;
  const errors: Buffer[] = [];
  for await (const chunk of child.stderr as Readable) errors.push(chunk as Buffer);
  throw new Error(`bubblewrap did not start the container: ${Buffer.concat(errors)}`);
}

/** The pid is known before the mounts are there. False: the process ended before its program began. */
async function hasBegun(child: ChildProcess): Promise<boolean> {
  for await (const _ of child.stdio[begunFd] as Readable) return true;
  return false;
}

function killed(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => {
    child.once("close", () => resolve());
    child.kill("SIGKILL");
  });
}

/** Files that a kubelet writes for every pod. */
async function writeEtc({ metadata, spec }: V1Pod, directory: string): Promise<ReadonlyMap<string, string>> {
  const { nameservers = [], searches = [], options = [] } = spec?.dnsConfig ?? {};
  const resolver = [
    ...nameservers.map((one) => `nameserver ${one}`),
    ...(searches.length > 0 ? [`search ${searches.join(" ")}`] : []),
    ...(options.length > 0
      ? [`options ${options.map(({ name, value }) => (value ? `${name}:${value}` : name)).join(" ")}`]
      : []),
  ];
  const aliases = (spec?.hostAliases ?? []).map(({ ip, hostnames }) => `${ip}\t${hostnames?.join("\t")}`);
  const texts = {
    "/etc/hosts": ["127.0.0.1\tlocalhost", ...aliases].join("\n"),
    "/etc/resolv.conf": resolver.join("\n"),
    "/etc/hostname": spec?.hostname ?? metadata?.name ?? "",
    "/etc/passwd": "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin",
    "/etc/group": "root:x:0:\nnogroup:x:65534:",
  };
  const files = new Map<string, string>();
  await mkdir(join(directory, "etc"), { recursive: true });
  for (const [path, text] of Object.entries(texts)) {
    const file = join(directory, path);
    await writeFile(file, `${text}\n`, { mode: 0o644 });
    files.set(path, file);
  }
  return files;
}
