import { formatSize } from "../../policy/format-units.ts";
import { compareIsolation } from "../../policy/isolation.ts";
import type { Policy } from "../../policy/schema.ts";
import { type Answer, type AnswerTable, answerRules, byHost, byOs, bySupervisor } from "../answer-rules.ts";
import { kernelProcesses } from "../linux/kernel-processes.ts";
import { networkRules } from "../network-rules.ts";
import { type EnforcementPlan, loadedByHost } from "../receipt.ts";
import { onlyVariables, supervisedRules } from "../supervised-rules.ts";
import { memoryFilesBytes, ownKernelBytes, podMemoryBytes } from "./pod/cell-pod.ts";
import { declaredIsolation } from "./settings.ts";

/** What keeps cells off the network in this cluster, or why nothing does. */
export type NetworkFinding =
  | { readonly by: "own-namespace"; readonly withoutRuntimeFilter: boolean }
  | { readonly by: "policy"; readonly provedMs: number }
  | { readonly by: "nothing"; readonly reason: string; readonly hint: string };

/** Facts that decide how a policy is enforced. */
export interface ClusterFacts {
  /** of the API server, such as 1.31 */
  readonly version: string;
  /** of `kernel.image`, or the operator's; undefined: neither */
  readonly image: string | undefined;
  readonly operatorImage: string | undefined;
  /** why cells cannot start with the image that the policy names */
  readonly imageProblem?: { readonly reason: string; readonly hint: string };
  readonly runtimeClass: string | undefined;
  readonly network: NetworkFinding;
  /** the kubelets give files in memory a size (Kubernetes 1.22) */
  readonly sizesMemoryFiles: boolean;
  /** how the gateway talks to the pod */
  readonly channel: "attach" | "portforward";
  /** the pod comes out of a warm pool of agent-sandbox */
  readonly isPooled?: boolean;
}

const upload = "upload the files into the session instead, or use the process or container runner";

const table: AnswerTable<ClusterFacts> = {
  "isolation.minimum": ({ isolation: { minimum } }, { runtimeClass, version }) => {
    const level = declaredIsolation(runtimeClass);
    if (compareIsolation(level, minimum) < 0) {
      return {
        reason: `pods of this cluster are ${level}${runtimeClass === undefined ? "" : `, by the RuntimeClass ${runtimeClass}`}`,
        hint: "lower isolation.minimum, or set CODECELL_KUBERNETES_RUNTIME_CLASS to a class of gVisor",
      };
    }
    return level === "gvisor"
      ? byOs(
          `an OS kernel of its own, by the RuntimeClass ${runtimeClass}; each cell checks that it is gVisor's before it runs code`,
        )
      : byOs(
          `namespaces of a pod, by Kubernetes ${version}${runtimeClass === undefined ? "" : ` with the RuntimeClass ${runtimeClass}`}`,
        );
  },
  "fs.workspace": ({ fs }) =>
    fs.workspace === undefined
      ? byOs("private tmpfs of the pod, removed when the session ends")
      : { reason: "a pod does not see directories of this machine", hint: `remove fs.workspace; ${upload}` },
  "fs.deps": ({ fs }) =>
    fs.deps === undefined
      ? byOs("nothing is mounted")
      : {
          reason: "a pod does not see directories of this machine",
          hint: "put the modules into the image of kernel.image, or use another runner",
        },
  "fs.mounts": ({ fs }) =>
    fs.mounts.length === 0
      ? byOs("nothing is mounted")
      : { reason: "a pod does not see directories of this machine", hint: `remove fs.mounts; ${upload}` },
  "fs.load": () => loadedByHost,
  ...networkRules("the cell's own network namespace: nothing but loopback"),
  "net.enabled": (policy, { network }) => closedNetwork(policy, network),
  "proc.timeout": () => bySupervisor("interrupt, then SIGKILL; if the supervisor fails, the host deletes the pod"),
  "proc.cpus": () => byOs("cpu limit of the pod, a cgroup of its node"),
  "proc.memory": (policy, { runtimeClass }) => {
    const hasOwnKernel = declaredIsolation(runtimeClass) === "gvisor";
    const whole = formatSize(podMemoryBytes(policy, hasOwnKernel));
    const files = formatSize(memoryFilesBytes(policy));
    if (hasOwnKernel) {
      const own = formatSize(ownKernelBytes);
      return bySupervisor(
        `sum of resident memory every 20 ms, RLIMIT_DATA for each process; the pod's own limit, a cgroup of its node, is ${whole}, with ${files} for files in memory and ${own} for the cell's OS kernel`,
      );
    }
    return bySupervisor(
      `sum of resident memory and socket buffers every 20 ms; the pod's own limit, a cgroup of its node, is ${whole}, with ${files} for files in memory`,
    );
  },
  "proc.pids": (_, { isPooled, runtimeClass }) => {
    if (declaredIsolation(runtimeClass) === "gvisor") {
      return byOs(
        `RLIMIT_NPROC in the cell's own OS kernel, together with ${kernelProcesses} for codecell's own processes; a count by the supervisor`,
      );
    }
    const user = isPooled
      ? "a uid in a user namespace of the pod's own, which each cell checks,"
      : "a uid that no other cell of this gateway has,";
    return byOs(
      `RLIMIT_NPROC of ${user} together with ${kernelProcesses} for codecell's own processes; a limit of the node's kubelet for pods holds too`,
    );
  },
  "proc.exactDisk": ({ proc }, { sizesMemoryFiles, version }) => {
    if (!proc.exactDisk) return byHost("not requested: the row of proc.disk says who enforces that limit");
    if (sizesMemoryFiles) return byOs("the workspace is a tmpfs of this size");
    return {
      reason: `Kubernetes ${version} gives files in memory no size`,
      hint: "use Kubernetes 1.22 or newer, or set proc.exactDisk to false",
    };
  },
  "proc.disk": ({ proc }, { sizesMemoryFiles, runtimeClass }) => {
    const countsEntries = declaredIsolation(runtimeClass) !== "gvisor";
    const uncounted = "gVisor does not count files without content";
    return sizesMemoryFiles
      ? byOs(
          `size limit of the tmpfs; each cell checks it before it runs code; ${countsEntries ? "the supervisor counts each entry as at least 4 KiB" : uncounted}`,
        )
      : bySupervisor(
          `size of the workspace every 20 ms${countsEntries ? ", with at least 4 KiB for each entry" : ""}; RLIMIT_FSIZE of ${formatSize(proc.diskBytes)} for each file${countsEntries ? "" : `; ${uncounted}`}`,
        );
  },
  env: (policy) => bySupervisor(`the interpreter's environment has ${onlyVariables(policy)}`),
  ...supervisedRules,
  "fs.deny": () => byOs("nothing is mounted"),
  "kernel.python": ({ kernel: { python } }) =>
    python === undefined
      ? byOs("the image's python3")
      : { reason: "the image has its own Python", hint: "remove kernel.python, or use the process runner" },
  "kernel.packages": ({ kernel: { packages } }) =>
    packages.install.length === 0 && !packages.inside
      ? byOs("nothing is installed")
      : {
          reason: "a pod does not see the directory that packages are unpacked to",
          hint: "put the packages into the image of kernel.image, or use another runner",
        },
  "kernel.image": (_, { image, operatorImage, network, imageProblem }) => {
    if (imageProblem !== undefined) return imageProblem;
    if (image === undefined) {
      return {
        reason: "no image is configured",
        hint: "set CODECELL_KUBERNETES_IMAGE to an image with Python 3.9 or newer that the nodes can pull, best by its digest",
      };
    }
    if (network.by === "nothing" && image !== operatorImage) {
      return {
        reason: "pods of this cluster have a network, which the image's Python could use",
        hint: "use the operator's image (CODECELL_KUBERNETES_IMAGE), or a cluster that enforces NetworkPolicies",
      };
    }
    // The image's own Python is the pod's first process: a hostile one would keep the pod's network.
    if (network.by === "own-namespace" && image !== operatorImage) {
      return {
        reason: "here the cell's first process, which is the image's Python, has to leave the pod's network itself",
        hint: "have the operator set CODECELL_KUBERNETES_IMAGE to this image, or use a cluster that enforces NetworkPolicies (CODECELL_KUBERNETES_NETWORK=policy)",
      };
    }
    return byOs(`root file system of ${image}, read-only`);
  },
};

/** Also with an enabled network the pod itself has none: programs reach only the proxy, over the channel. */
function closedNetwork(policy: Policy, network: NetworkFinding): Answer {
  if (network.by === "nothing") return { reason: network.reason, hint: network.hint };
  return networkRules(isolates(network))["net.enabled"](policy);
}

function isolates(network: Exclude<NetworkFinding, { by: "nothing" }>): string {
  if (network.by === "own-namespace") {
    return "a network namespace of the cell's own with nothing but loopback, which its first process checks before it runs code";
  }
  const ago = `${Math.max(1, Math.round(network.provedMs / 60_000))} min`;
  return `a NetworkPolicy without any rule; probe pods showed ${ago} ago that this cluster enforces it`;
}

/** Pure: how this cluster would enforce a policy. */
export function planKubernetes(policy: Policy, facts: ClusterFacts): EnforcementPlan {
  return answerRules(policy, table, facts, notes(facts));
}

function notes({ runtimeClass, network, sizesMemoryFiles, channel, isPooled }: ClusterFacts): string[] {
  const hasOwnKernel = declaredIsolation(runtimeClass) === "gvisor";
  return [
    ...(hasOwnKernel
      ? [
          "code in the cell can kill the parked copies of its interpreter: after a crash it then starts fresh",
          "code in the cell can impersonate its supervisor towards the host, and so lie about its own session",
          "buffers of sockets and pipes are memory of the cell's own OS kernel: code that fills them up to the pod's limit ends its session",
        ]
      : [
          "the cell shares its node's OS kernel: a vulnerability in it that is reachable through the system call filters is not contained",
          network.by === "own-namespace"
            ? "code can read the paths of its mounts and control groups on the node, which name the pod"
            : "Kubernetes hides fewer files of /proc and /sys than other runners: code can read statistics, devices and symbols of the node's OS kernel, its boot id, and the names of its own pod",
        ]),
    ...(network.by === "own-namespace" && network.withoutRuntimeFilter
      ? [
          "the pod has no system call filter of its runtime, which would refuse the network namespace; ours is in place before code runs",
        ]
      : []),
    ...(network.by === "policy"
      ? ["the node itself, and what the cluster's network exempts from policies, was tried as far as probe pods can"]
      : []),
    ...(sizesMemoryFiles
      ? []
      : ["the kubelets give files in memory no size: the supervisor ends a run that has more of them"]),
    ...(isPooled
      ? ["agent-sandbox made the pod; codecell compared it with what it asked for, field by field, before it ran code"]
      : []),
    "administrators of the cluster and of its nodes see everything in a cell",
    ...(channel === "attach"
      ? [
          "what the cell sends to the gateway is in the node's log of the pod, until the kubelet deletes that with the pod",
        ]
      : []),
    "/dev/termination-log is a file of the node that code can fill up to proc.disk",
  ];
}
