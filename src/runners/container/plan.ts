import { formatSize } from "../../policy/format-units.ts";
import type { Policy } from "../../policy/schema.ts";
import { type AnswerTable, answerRules, byOs, bySupervisor } from "../answer-rules.ts";
import { mountedPackages } from "../cell-packages.ts";
import { exactDisk, measuredDirectory, ownFileSystem, uncountedMounts } from "../disk-rule.ts";
import type { ImageSupport } from "../linux/disk/image/image-support.ts";
import { kernelProcesses } from "../linux/kernel-processes.ts";
import { sharedLocks } from "../linux/shared-locks.ts";
import { socketRow } from "../linux/socket-limits.ts";
import { networkRules } from "../network-rules.ts";
import { type EnforcementPlan, loadedByHost } from "../receipt.ts";
import { onlyVariables, supervisedRules } from "../supervised-rules.ts";
import { memoryFilesBytes, ownKernelBytes } from "./cell/container-spec.ts";
import type { Engine } from "./engine/engine.ts";

/** Facts that decide how a policy is enforced. */
export interface ContainerFacts {
  readonly engine: Pick<
    Engine,
    | "version"
    | "cgroupVersion"
    | "limits"
    | "seccomp"
    | "isRootless"
    | "isLocal"
    | "remapsUsers"
    | "labelsFiles"
    | "processors"
  > & {
    readonly name: string;
  };
  readonly runtime: string | undefined;
  readonly hasOwnKernel: boolean;
  /** the image of `kernel.image`, or the default image */
  readonly image: string;
  /** undefined if the engine does not have the image */
  readonly imageId: string | undefined;
  readonly hasSessionDirectory: boolean;
  readonly images?: ImageSupport | undefined;
}

/** One row per rule: who enforces it in a container, and how. */
const table: AnswerTable<ContainerFacts> = {
  "isolation.minimum": (_, { engine, runtime, hasOwnKernel }) =>
    byOs(
      `${hasOwnKernel ? "an OS kernel of its own" : "namespaces"}, by ${engine.name} ${engine.version}` +
        (runtime === undefined ? "" : ` with the runtime ${runtime}`),
    ),
  "fs.workspace": ({ fs }, facts) => {
    if (fs.workspace) return byOs("bind mount");
    return byOs(
      facts.hasSessionDirectory
        ? "bind mount of the session's own directory"
        : "private tmpfs, removed when the session ends",
    );
  },
  "fs.deps": ({ fs }) => byOs(fs.deps ? "read-only bind mount" : "nothing is mounted"),
  "fs.mounts": ({ fs }) => byOs(fs.mounts.length > 0 ? "bind mounts" : "nothing is mounted"),
  "fs.load": () => loadedByHost,
  ...networkRules("network mode none: nothing but loopback"),
  "proc.timeout": () => bySupervisor("interrupt, then SIGKILL; if the supervisor fails, the host kills the container"),
  "proc.cpus": ({ proc }, { engine }) => {
    if (!engine.limits.cpus) return unlimited("cpus", "cpu", engine);
    const { processors } = engine;
    const most = processors !== undefined && processors < proc.cpus ? `, of ${processors} available` : "";
    return byOs(`cpu quota of the container${most}, cgroup v${engine.cgroupVersion}`);
  },
  "proc.memory": (policy, { engine, hasOwnKernel, hasSessionDirectory }) => {
    if (!engine.limits.memory) return unlimited("memory", "memory", engine);
    const { memoryBytes } = policy.proc;
    const files = memoryFilesBytes(policy, hasSessionDirectory);
    if (hasOwnKernel)
      return bySupervisor(
        "sum of resident memory every 20 ms, RLIMIT_DATA for each process; the container's own limit is " +
          `${formatSize(memoryBytes + files + ownKernelBytes)}, with ${formatSize(files)} for files in memory and ` +
          `${formatSize(ownKernelBytes)} for the cell's OS kernel`,
      );
    const counted = engine.cgroupVersion !== "1" ? "together" : engine.limits.sockets ? "separately" : "nowhere";
    return byOs(
      `memory limit of the container${engine.limits.swap ? " without swap" : ""}, cgroup v${engine.cgroupVersion}, together with ${formatSize(files)} for files in memory; ${socketRow(memoryBytes, counted)}`,
    );
  },
  "proc.pids": (_, { engine, hasOwnKernel }) => {
    if (!engine.limits.pids) return unlimited("processes", "pids", engine);
    const own = `together with ${kernelProcesses} for codecell's own processes`;
    return hasOwnKernel
      ? byOs(
          `RLIMIT_NPROC in the cell's own OS kernel, ${own}; a count by the supervisor, and a limit of the container`,
        )
      : byOs(`pids limit of the container, cgroup v${engine.cgroupVersion}, ${own}`);
  },
  "proc.exactDisk": (policy, facts) => exactDisk(policy, facts),
  "proc.disk": (policy, facts) => {
    const own = ownFileSystem(policy, facts);
    if (own) return own;
    if (policy.fs.workspace || facts.hasSessionDirectory) return measuredDirectory(policy, { seesDeleted: false });
    return byOs(`size limit of the tmpfs${uncountedMounts(policy)}`);
  },
  env: (policy) => bySupervisor(`the interpreter's environment has ${onlyVariables(policy)}`),
  ...supervisedRules,
  "kernel.python": ({ kernel: { python } }) =>
    python === undefined
      ? byOs("the image's python3")
      : { reason: "the image has its own Python", hint: "remove kernel.python, or use the process runner" },
  "kernel.packages": (policy) => mountedPackages(policy),
  "kernel.image": (_, { image, imageId, engine }) =>
    imageId !== undefined
      ? byOs(`root file system of ${image}, read-only`)
      : {
          reason: `${engine.name} has no image ${image}`,
          hint: "run `codecell image build`, or pull the image that kernel.image names",
        },
};

function unlimited(what: string, controller: string, { isRootless, cgroupVersion }: ContainerFacts["engine"]) {
  const first = isRootless && cgroupVersion === "1";
  const hint = first
    ? "boot with cgroup v2, or use an engine that runs as root"
    : `delegate the ${controller} cgroup controller to the engine's user, or use another runner`;
  return { reason: `the engine cannot limit ${what} here`, hint };
}

/** Pure: how this engine would enforce a policy. */
export function planContainer(policy: Policy, facts: ContainerFacts): EnforcementPlan {
  return answerRules(policy, table, facts, [...notes(facts), ...(facts.hasOwnKernel ? [] : sharedLocks(policy))]);
}

function notes({ engine, hasOwnKernel }: ContainerFacts): string[] {
  return [
    ...(hasOwnKernel
      ? [
          "code in the cell can kill the parked copies of its interpreter: after a crash it then starts fresh",
          "code in the cell can impersonate its supervisor towards the host, and so lie about its own session",
          "buffers of sockets and pipes are memory of the cell's own OS kernel: code that fills them up to the container's limit ends its session",
        ]
      : [
          "the cell shares the host's OS kernel: a vulnerability in it that is reachable through the system call filters is not contained",
        ]),
    ...(engine.seccomp || hasOwnKernel
      ? []
      : [`${engine.name} has no system call filter of its own; ours is in place`]),
    ...(engine.limits.memory && !engine.limits.swap && !hasOwnKernel
      ? [`${engine.name} cannot limit swap here: where the host has swap, the cell's use of it is not limited`]
      : []),
    ...(engine.remapsUsers
      ? [
          `${engine.name} maps users of containers to others, and is asked not to for cells: directories have owners of the host`,
        ]
      : []),
    ...(engine.labelsFiles
      ? ["SELinux does not tell the cell from others of the engine: directories of the host carry other labels"]
      : []),
    ...(engine.isLocal
      ? []
      : [
          `${engine.name} runs on another machine: a cell's usage is unknown, and a run that is killed for its memory is reported as crashed`,
        ]),
    ...(engine.isRootless ? ["root of the container is the user who runs the engine, without any capability"] : []),
  ];
}
