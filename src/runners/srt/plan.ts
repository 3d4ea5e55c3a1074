import type { Policy } from "../../policy/schema.ts";
import { formatSize } from "../../policy/units.ts";
import { type AnswerTable, answerRules, byOs, bySupervisor } from "../answer-rules.ts";
import { type EnforcementPlan, loadedByHost } from "../receipt.ts";
import { sessionRules } from "../session-rules.ts";
import { supervisedRules } from "../supervised-rules.ts";
import { srtVersion } from "./package.ts";

const noNetwork = byOs("own network namespace without a proxy in it");

/** Pure: a policy in, one answer per rule out. */
export function planSrt(policy: Policy): EnforcementPlan {
  return answerRules(policy, answers, undefined, notes);
}

const notes: readonly string[] = [
  "the cell shares the host's OS kernel: a vulnerability in it that is reachable through the system call filters is not contained",
  "sandbox-runtime maps no paths: the workspace is the working directory, at its place on the host, and /workspace does not exist",
  "sandbox-runtime makes no UTS and cgroup namespaces: the host's name and the names of its control groups can be read",
  "so can the figures of the machine in /proc, the names of top-level directories and the paths of mounts, not what is in them",
  "where the Linux kernel has no Landlock, a directory that the host creates directly below / while the cell lives can be read",
  "no control groups: limits rest on rlimits, the supervisor and the host's watch",
];

const answers: AnswerTable<undefined> = {
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
          reason: "sandbox-runtime maps no paths, so nothing appears at /deps",
          hint: "name the directory in fs.mounts with the same source and target, or use the process runner",
        },
  "fs.mounts": ({ fs }) => {
    const moved = fs.mounts.find(({ source, target }) => source !== target);
    if (moved) {
      return {
        reason: `sandbox-runtime maps no paths: ${moved.source} cannot appear at ${moved.target}`,
        hint: "give source and target the same path, or use the process runner",
      };
    }
    return byOs(fs.mounts.length > 0 ? "bind mounts, nosuid and nodev" : "nothing is mounted");
  },
  "fs.load": () => loadedByHost,
  "net.enabled": ({ net }) =>
    net.enabled
      ? {
          reason: "codecell's proxy does not serve this runner",
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
  "proc.timeout": () => bySupervisor("interrupt, then SIGKILL; the host ends the cell if the supervisor does not"),
  "proc.cpus": ({ proc }) =>
    Number.isInteger(proc.cpus)
      ? byOs("core affinity, which the system call filter keeps from being changed")
      : {
          reason: "sandbox-runtime has no limits, and fractions of a core need a cgroup",
          hint: `set proc.cpus to ${Math.ceil(proc.cpus)}, or use the process runner`,
        },
  "proc.memory": ({ proc }) =>
    bySupervisor(
      "sum of resident memory every 20 ms, RLIMIT_DATA for each process, " +
        `together with ${formatSize(proc.diskBytes)} for files in memory`,
    ),
  "proc.pids": () => byOs("RLIMIT_NPROC in an own user namespace"),
  "proc.disk": () => ({
    by: "host watchdog",
    how: "size of the directory while runs go on, RLIMIT_FSIZE per file; files in memory elsewhere by the supervisor",
  }),
  env: () => byOs("sandbox-runtime passes on what it is given: it is started with nothing but these, PATH, HOME, LANG"),
  ...supervisedRules,
  ...sessionRules,
  "kernel.python": () => byOs("interpreter and libraries read-only, at their own place"),
  "kernel.image": ({ kernel: { image } }) =>
    image === undefined
      ? byOs("the host's own interpreter, and no image")
      : { reason: "this runner starts no images", hint: "leave kernel.image out, or use the container runner" },
};
