import { formatSize } from "../../policy/format-units.ts";
import { hostGrants } from "../../policy/paths/host-grants.ts";
import type { Policy } from "../../policy/schema.ts";
import { type Answer, type AnswerTable, answerRules, byOs, bySupervisor } from "../answer-rules.ts";
import { mountedPackages } from "../cell-packages.ts";
import { exactDisk, measuredDirectory, ownFileSystem, uncountedMounts } from "../disk-rule.ts";
import type { ImageSupport } from "../linux/disk/image/image-support.ts";
import { sharedLocks } from "../linux/shared-locks.ts";
import { type SocketCount, socketRow, watchedMemory } from "../linux/socket-limits.ts";
import { networkRules } from "../network-rules.ts";
import { type EnforcementPlan, loadedByHost } from "../receipt.ts";
import { onlyVariables, supervisedRules } from "../supervised-rules.ts";
import { kernelProcesses, privateFilesBytes } from "./cell-config.ts";
import { type CgroupController, cgroupHolds } from "./cgroup/cgroup.ts";
import type { ProcessFacts } from "./process-facts.ts";

interface PlanFacts extends ProcessFacts {
  /** the session has its own directory on the host */
  readonly hasSessionDirectory: boolean;
  readonly images?: ImageSupport | undefined;
}

/** One row per rule: who enforces it, and how. */
const table: AnswerTable<PlanFacts> = {
  "isolation.minimum": (_, facts) => byOs(`namespaces by bubblewrap ${facts.bubblewrap}, ${facts.layout} layout`),
  "fs.workspace": ({ fs }, facts) => {
    if (fs.workspace) return byOs("bind mount in the cell's own mount namespace");
    return byOs(
      facts.hasSessionDirectory
        ? "bind mount of the session's own directory"
        : "private tmpfs, removed when the session ends",
    );
  },
  "fs.deps": ({ fs }) => byOs(fs.deps ? "read-only bind mount" : "nothing is mounted"),
  "fs.mounts": ({ fs }) => byOs(fs.mounts.length > 0 ? "bind mounts, nosuid and nodev" : "nothing is mounted"),
  "fs.load": () => loadedByHost,
  ...networkRules("own network namespace with nothing but loopback"),
  "proc.timeout": () => bySupervisor("interrupt, then SIGKILL; if the supervisor fails, the host kills the cell"),
  "proc.cpus": ({ proc }, facts) => cpus(proc.cpus, facts),
  "proc.memory": (policy, facts) =>
    cgroupHolds(facts.cgroups, "memory")
      ? byOs(
          `${group(facts, "memory", "memory.max", "memory.limit_in_bytes")}, together with ` +
            `${formatSize(privateFilesBytes(policy, facts.hasSessionDirectory))} for files in memory; ` +
            socketRow(policy.proc.memoryBytes, socketCount(facts)),
        )
      : bySupervisor(watchedMemory),
  "proc.pids": (_, facts) =>
    cgroupHolds(facts.cgroups, "pids")
      ? byOs(
          `${group(facts, "pids", "pids.max", "pids.max")}, together with ${kernelProcesses} for codecell's own processes`,
        )
      : byOs("RLIMIT_NPROC in the cell's own user namespace"),
  "proc.exactDisk": (policy, facts) => exactDisk(policy, facts),
  "proc.disk": (policy, facts) => {
    const own = ownFileSystem(policy, facts);
    if (own) return own;
    if (policy.fs.workspace || facts.hasSessionDirectory)
      return measuredDirectory(policy, { seesDeleted: facts.seesDescriptors });
    const what = facts.layout === "template" ? "size and inode limit of the tmpfs" : "size limit of the tmpfs";
    return byOs(what + uncountedMounts(policy));
  },
  env: (policy) => byOs(`the environment has ${onlyVariables(policy)}`),
  ...supervisedRules,
  "kernel.python": () => byOs("interpreter and libraries mounted read-only"),
  "kernel.packages": (policy) => mountedPackages(policy),
  "kernel.image": ({ kernel: { image } }) =>
    image === undefined
      ? byOs("uses the host's interpreter, not an image")
      : { reason: "this runner does not use images", hint: "remove kernel.image, or use the container runner" },
};

/** Pure: how this host would enforce a policy. */
export function planProcess(
  policy: Policy,
  host: ProcessFacts,
  hasSessionDirectory = false,
  images?: ImageSupport,
): EnforcementPlan {
  const facts = { ...host, hasSessionDirectory, images };
  return answerRules(policy, table, facts, notes(policy, facts));
}

function notes(policy: Policy, facts: ProcessFacts): string[] {
  return [
    "the cell shares the host's OS kernel: a vulnerability in it that is reachable through the system call filter is not contained",
    ...(facts.layout === "template" ? ["cells of one policy share address layout and hash seed"] : []),
    ...sharedUser(policy, facts),
    ...sharedLocks(policy),
    ...(facts.cgroups.kind === "none" ? [`no control groups: ${facts.cgroups.reason}`] : []),
  ];
}

/** With whom the cell shares what Linux counts per user: each can use it up, and the others are left without. */
function sharedUser(policy: Policy, { users, hasSubordinateUids }: ProcessFacts): string[] {
  const hasOwner = users !== "caller" && hostGrants(policy).some(({ isWritable }) => isWritable);
  if (users === "session" && !hasOwner) return [];
  const user = hasOwner ? "the owner of its writable directories" : "the user who runs codecell";
  const others = users === "policy" && !hasOwner ? "the other cells of this policy" : `other programs of ${user}`;
  const isWritable = hostGrants(policy).some((grant) => grant.isWritable);
  const remedy =
    users === "caller" && hasSubordinateUids && !isWritable
      ? "; started by `unshare --user --map-root-user --map-auto`, codecell gives each cell a uid of its own"
      : "";
  return [
    `the cell and ${others} share limits that Linux counts per user: descriptors in flight, pipes, epoll${remedy}`,
  ];
}

function group(facts: ProcessFacts, controller: CgroupController, v2: string, v1: string): string {
  return facts.cgroups.kind === "v2" ? `cgroup v2 ${v2}` : `cgroup v1 ${controller} ${v1}`;
}

/** How the memory limit counts the buffers of TCP and UDP sockets. */
function socketCount({ cgroups }: ProcessFacts): SocketCount {
  if (cgroups.kind === "v2") return "together";
  return cgroups.kind === "v1" && cgroups.limitsSockets ? "separately" : "nowhere";
}

/** Without a CPU quota, only whole cores can be enforced: by affinity, which the filter stops user code from changing. */
function cpus(requested: number, facts: ProcessFacts): Answer {
  if (cgroupHolds(facts.cgroups, "cpu")) return byOs(group(facts, "cpu", "cpu.max", "cpu.cfs_quota_us"));
  if (Number.isInteger(requested)) return byOs("core affinity; the system call filter blocks changes to it");
  return {
    reason: "a fraction of a core needs a cgroup with the cpu controller, and there is none here",
    hint: `set proc.cpus to ${Math.ceil(requested)}, or run where cgroups are writable`,
  };
}
