import { formatSize } from "../../policy/format-units.ts";
import type { Policy } from "../../policy/schema.ts";
import { type AnswerTable, answerRules, byOs, bySupervisor } from "../answer-rules.ts";
import { mountedPackages } from "../cell-packages.ts";
import { type DiskFacts, exactDisk, measuredDirectory, ownFileSystem } from "../disk-rule.ts";
import { sharedLocks } from "../linux/shared-locks.ts";
import { watchedMemory } from "../linux/socket-limits.ts";
import { type EnforcementPlan, loadedByHost } from "../receipt.ts";
import { onlyVariables, supervisedRules } from "../supervised-rules.ts";
import { srtVersion } from "./package.ts";

const noNetwork = byOs("own network namespace, without a proxy");

/** Pure: how this runner would enforce a policy. */
export function planSrt(policy: Policy, facts: DiskFacts = { hasSessionDirectory: true }): EnforcementPlan {
  return answerRules(policy, answers, facts, [...notes, ...sharedLocks(policy)]);
}

const notes: readonly string[] = [
  "the cell shares the host's OS kernel: a vulnerability in it that is reachable through the system call filters is not contained",
  "sandbox-runtime cannot map paths: the workspace is the working directory, at its path on the host, and /workspace does not exist",
  "sandbox-runtime creates no UTS or cgroup namespace: code can read the host's name and the names of its cgroups",
  "code can also read the machine's statistics and boot id in /proc, the names of top-level directories and the paths of mounts, but not their content",
  "sandbox-runtime leaves the capability bounding set full, and forbids the user namespace in which it could be emptied: code has no capability and can gain none",
  "where the Linux kernel has no Landlock, a directory that the host creates directly below / while the cell lives can be read",
  "no cgroups: rlimits, the supervisor and the host's watchdog enforce the limits",
];

const answers: AnswerTable<DiskFacts> = {
  "isolation.minimum": ({ isolation: { minimum } }) =>
    minimum === "wasm" || minimum === "srt"
      ? byOs(`namespaces and filter by sandbox-runtime ${srtVersion}, codecell's filter on top`)
      : { reason: `${minimum} is stronger than srt`, hint: "lower isolation.minimum, or use that runner" },
  "fs.workspace": ({ fs }) =>
    byOs(fs.workspace ? "bind mount at its own path" : "bind mount of the session's own directory, at its own path"),
  "fs.deps": ({ fs }) =>
    fs.deps === undefined
      ? byOs("nothing is mounted")
      : {
          reason: "sandbox-runtime cannot map paths, so nothing would appear at /deps",
          hint: "name the directory in fs.mounts with the same source and target, or use the process runner",
        },
  "fs.mounts": ({ fs }) => {
    const moved = fs.mounts.find(({ source, target }) => source !== target);
    if (moved) {
      return {
        reason: `sandbox-runtime cannot map paths: ${moved.source} cannot appear at ${moved.target}`,
        hint: "give source and target the same path, or use the process runner",
      };
    }
    return byOs(fs.mounts.length > 0 ? "bind mounts, nosuid and nodev" : "nothing is mounted");
  },
  "fs.load": () => loadedByHost,
  "net.enabled": ({ net }) =>
    net.enabled
      ? {
          reason: "the srt runner cannot use codecell's proxy",
          hint: "set net.enabled to false, or use the process runner",
        }
      : noNetwork,
  "net.allowlist": () => noNetwork,
  "net.deny": () => noNetwork,
  "net.inspect": () => noNetwork,
  "net.rules": () => noNetwork,
  "net.secrets": () => noNetwork,
  "net.connections": () => noNetwork,
  "net.requests": () => noNetwork,
  "net.sent": () => noNetwork,
  "net.received": () => noNetwork,
  "proc.timeout": () => bySupervisor("interrupt, then SIGKILL; if the supervisor fails, the host kills the cell"),
  "proc.cpus": ({ proc }) =>
    Number.isInteger(proc.cpus)
      ? byOs("core affinity; the system call filter blocks changes to it")
      : {
          reason: "sandbox-runtime sets no limits, and a fraction of a core needs a cgroup",
          hint: `set proc.cpus to ${Math.ceil(proc.cpus)}, or use the process runner`,
        },
  "proc.memory": ({ proc }) =>
    bySupervisor(`${watchedMemory}; together with ${formatSize(proc.diskBytes)} for files in memory`),
  "proc.pids": () => byOs("RLIMIT_NPROC in the cell's own user namespace"),
  "proc.exactDisk": (policy, facts) => exactDisk(policy, facts),
  "proc.disk": (policy, facts) =>
    ownFileSystem(policy, facts) ??
    measuredDirectory(policy, { seesDeleted: false }, "; files in memory elsewhere by the supervisor"),
  env: (policy) =>
    bySupervisor(
      `the interpreter's environment has ${onlyVariables(policy, ["PATH", "HOME", "LANG", "TMPDIR"])}; ` +
        "sandbox-runtime is started without the host's",
    ),
  ...supervisedRules,
  "kernel.python": () => byOs("interpreter and libraries read-only, at their own place"),
  "kernel.packages": (policy) => mountedPackages(policy, "read-only bind mount at its own path"),
  "kernel.image": ({ kernel: { image } }) =>
    image === undefined
      ? byOs("uses the host's interpreter, not an image")
      : { reason: "this runner does not use images", hint: "remove kernel.image, or use the container runner" },
};
