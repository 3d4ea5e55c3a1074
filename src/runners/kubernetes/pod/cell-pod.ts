import type { Policy } from "../../../policy/schema.ts";
import { largestFileBytes } from "../../disk-rule.ts";
import { kernelBootstrap } from "../../kernel-bootstrap.ts";
import { identityTexts } from "../../linux/identity-texts.ts";
import { kernelProcesses } from "../../linux/kernel-processes.ts";
import { hiddenPaths } from "../../linux/mounts/hidden-paths.ts";
import type { LinkSettings } from "../channel/pod-channel.ts";
import { closedLabel, labelsOf } from "../labels.ts";
import type { KubernetesSettings } from "../settings.ts";
import { hardenedPod, memoryVolume, type PodResources } from "./hardened-pod.ts";

const mebibyte = 1024 * 1024;
/** Sizes of the cell's own files in memory, whatever the policy says. */
export const scratchBytes = { tmp: 64 * mebibyte, shared: 64 * mebibyte } as const;
/** Memory that a virtual OS kernel needs for itself and for each interpreter. */
export const ownKernelBytes = 256 * mebibyte;
/** The pod writes nothing to the node's disk but its log, which the kubelet rotates at 50 MiB by default. */
const nodeDiskBytes = { limit: 256 * mebibyte, request: 16 * mebibyte } as const;
/** The session ends its cell at the end of its lifetime; the cluster only if no gateway did. */
const deadlineSlackSeconds = 120;

/** A process of the pod holds the connection to the gateway (`entry/pod_link.py`). */
const relayProcesses = 1;

const bootstrap = kernelBootstrap("pod");

/** Files of /etc that are the same in every cell, in the kernel's ConfigMap. */
export const sharedIdentity = ["hosts", "resolv.conf", "nsswitch.conf", "services", "protocols"] as const;
const ownIdentity = ["passwd", "group"] as const;

/** What decides how a pod is made, besides the policy. */
export interface CellPodFacts {
  readonly name: string;
  readonly gateway: string;
  readonly policyHash: string;
  readonly image: string;
  /** the interpreter inside the image */
  readonly python: string;
  /** the ConfigMap with the kernel compiled for the image */
  readonly kernel: string;
  /** of the image's programs, as nodes are labelled: amd64, arm64 */
  readonly arch: string;
  readonly user: { readonly uid: number; readonly gid: number };
  readonly network: CellNetwork;
  /** absent: the channel are the standard streams */
  readonly link?: LinkSettings | undefined;
  /** the pod has an OS kernel of its own, by its RuntimeClass */
  readonly hasOwnKernel: boolean;
  /** the kubelet gives a tmpfs its size (Kubernetes 1.22) */
  readonly sizesMemoryFiles: boolean;
  /**
   * A warm pool makes the pod, before anybody knows whose it will be. So pods of one policy have one uid, each in a user namespace
   * of its own, and their deadline is the claim's.
   */
  readonly isPooled?: boolean;
  readonly settings: Pick<KubernetesSettings, "runtimeClass" | "nodeSelector" | "pullPolicy" | "requests">;
}

/**
 * What keeps a cell off the network, and how its first process makes sure. `own-namespace`: it leaves the pod's network.
 * `policy`: the cluster's NetworkPolicy.
 */
export interface CellNetwork {
  readonly by: "own-namespace" | "policy";
  /** the runtime's own system call filter would refuse the new namespace */
  readonly withoutRuntimeFilter: boolean;
}

/** Pure: the pod of a policy's cell. */
export function cellPod(policy: Policy, facts: CellPodFacts) {
  const { settings, user, network } = facts;
  return hardenedPod({
    name: facts.name,
    labels: { ...labelsOf("cell", facts.gateway), ...closedLabel },
    annotations: { "codecell/policy": facts.policyHash, ...identityAnnotations(user) },
    image: facts.image,
    command: [facts.python, "-I", "-S", "-B", "-c", bootstrap],
    args: [JSON.stringify(cellSettings(policy, facts))],
    user,
    runtimeFilter: network.withoutRuntimeFilter ? "none" : "default",
    resources: resources(policy, facts),
    hasUserNamespace: facts.isPooled === true,
    deadlineSeconds: facts.isPooled ? undefined : longestSeconds(policy),
    volumes: [
      { name: "kernel", configMap: { name: facts.kernel, defaultMode: 0o444 } },
      {
        name: "identity",
        downwardAPI: {
          defaultMode: 0o444,
          items: ownIdentity.map((path) => ({ path, fieldRef: { fieldPath: annotation(path) } })),
        },
      },
      memoryVolume("workspace", policy.proc.diskBytes),
      memoryVolume("tmp", scratchBytes.tmp),
      memoryVolume("shm", scratchBytes.shared),
    ],
    mounts: [
      { name: "kernel", mountPath: "/.kernel", readOnly: true },
      ...sharedIdentity.map((name) => ({ name: "kernel", mountPath: `/etc/${name}`, subPath: name, readOnly: true })),
      ...ownIdentity.map((name) => ({ name: "identity", mountPath: `/etc/${name}`, subPath: name, readOnly: true })),
      { name: "workspace", mountPath: "/workspace" },
      { name: "tmp", mountPath: "/tmp" },
      { name: "shm", mountPath: "/dev/shm" },
    ],
    runtimeClass: settings.runtimeClass,
    // the kernel's filters are for one architecture
    nodeSelector: { ...settings.nodeSelector, "kubernetes.io/arch": facts.arch },
    pullPolicy: settings.pullPolicy,
  });
}

/** How long a cell of the policy may exist, if no gateway ends it earlier. */
export function longestSeconds({ session }: Policy): number {
  return Math.ceil(session.lifetimeMs / 1000) + deadlineSlackSeconds;
}

/** The pod's uid is its own, so these two files are too. */
function identityAnnotations(user: CellPodFacts["user"]): Record<string, string> {
  const texts = identityTexts(user);
  return Object.fromEntries(ownIdentity.map((name) => [`codecell/${name}`, texts[name]]));
}

function annotation(name: string): string {
  return `metadata.annotations['codecell/${name}']`;
}

/** What the first process enforces and checks before user code. */
function cellSettings(policy: Policy, { hasOwnKernel, network, sizesMemoryFiles, link, isPooled }: CellPodFacts) {
  const { proc } = policy;
  return {
    files: proc.files,
    fileBytes: largestFileBytes(policy),
    // no other pod has this uid, or has it in this user namespace, so only this pod counts here
    nprocLimit: proc.pids + kernelProcesses + (link ? relayProcesses : 0),
    guard: !hasOwnKernel,
    filter: "cell.bpf",
    ...(link ? { link } : {}),
    ...(isPooled ? { ownUsers: true } : {}),
    network: network.by,
    ...(network.by === "own-namespace" && !hasOwnKernel ? { hidden: hiddenPaths } : {}),
    workspaceBytes: proc.diskBytes,
    ...(sizesMemoryFiles ? { roomBytes: proc.diskBytes } : { memoryFilesBytes: memoryFilesBytes(policy) }),
    ...(hasOwnKernel ? { osKernel: "gvisor", dataLimit: proc.memoryBytes, mayLack: lackingInGvisor } : {}),
  };
}

/** gVisor lacks message queues and priorities, and therefore their limits: sigpending, msgqueue, nice, rtprio. */
const lackingInGvisor = [11, 12, 13, 14];

/** Total size of the file systems in memory. */
export function memoryFilesBytes({ proc }: Policy): number {
  return proc.diskBytes + scratchBytes.tmp + scratchBytes.shared;
}

/** Files in memory count as the pod's memory and survive a kill, so a full /tmp would kill every later run. */
export function podMemoryBytes(policy: Policy, hasOwnKernel: boolean): number {
  return policy.proc.memoryBytes + memoryFilesBytes(policy) + (hasOwnKernel ? ownKernelBytes : 0);
}

/** What the supervisor counts, because a pod ends as a whole at its own limits. */
export function watchedLimits(policy: Policy, hasOwnKernel: boolean) {
  const { memoryBytes, pids } = policy.proc;
  const watchMemoryBytes = memoryBytes;
  if (!hasOwnKernel) return { watchMemoryBytes };
  // A memfd belongs to no process, but to the cell's own OS kernel.
  return { watchMemoryBytes, watchTotalBytes: memoryBytes + memoryFilesBytes(policy), watchProcesses: pids };
}

function resources(policy: Policy, { hasOwnKernel, settings: { requests } }: CellPodFacts): PodResources {
  const memory = podMemoryBytes(policy, hasOwnKernel);
  const millicores = Math.max(1, Math.round(policy.proc.cpus * 1000));
  return {
    limits: { cpu: `${millicores}m`, memory: String(memory), "ephemeral-storage": String(nodeDiskBytes.limit) },
    requests: {
      cpu: `${Math.max(1, Math.round(millicores * requests.cpu))}m`,
      memory: String(Math.round(memory * requests.memory)),
      "ephemeral-storage": String(nodeDiskBytes.request),
    },
  };
}
