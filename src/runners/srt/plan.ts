import { policyRules, type RuleName } from "../../policy/rules.ts";
import type { Policy } from "../../policy/schema.ts";
import { formatSize } from "../../policy/units.ts";
import {
  type EnforcedBy,
  type EnforcedRule,
  type EnforcementPlan,
  loadedByHost,
  type RefusedRule,
} from "../receipt.ts";
import { sessionRules } from "../session-rules.ts";
import { srtVersion } from "./package.ts";

type Answer = { readonly by: EnforcedBy; readonly how: string } | { readonly reason: string; readonly hint: string };

const kernel = (how: string): Answer => ({ by: "kernel", how });
const supervisor = (how: string): Answer => ({ by: "supervisor watchdog", how });
const noNetwork = kernel("own network namespace without a proxy in it");

/** Pure: a policy in, one answer per rule out. */
export function planSrt(policy: Policy): EnforcementPlan {
  const rules: EnforcedRule[] = [];
  const refused: RefusedRule[] = [];
  for (const { rule, value } of policyRules(policy)) {
    const answer = answers[rule](policy);
    if ("by" in answer) rules.push({ rule, value, ...answer });
    else refused.push({ rule, value, ...answer });
  }
  return { rules, refused, notes };
}

const notes: readonly string[] = [
  "the cell shares the host's kernel: a kernel vulnerability reachable through the system call filters is not contained",
  "sandbox-runtime maps no paths: the workspace is the working directory, at its place on the host, and /workspace does not exist",
  "sandbox-runtime makes no UTS and cgroup namespaces: the host's name and the names of its control groups can be read",
  "so can the figures of the machine in /proc, the names of top-level directories and the paths of mounts, not what is in them",
  "where the kernel has no Landlock, a directory that the host creates directly below / while the cell lives can be read",
  "no control groups: limits rest on rlimits, the supervisor and the host's watch",
];

const answers: Record<RuleName, (policy: Policy) => Answer> = {
  "isolation.minimum": ({ isolation: { minimum } }) =>
    minimum === "wasm" || minimum === "srt"
      ? kernel(`namespaces and filter by sandbox-runtime ${srtVersion}, codecell's filter on top`)
      : { reason: `${minimum} is stronger than srt`, hint: "lower isolation.minimum, or use that runner" },
  "fs.workspace": ({ fs }) =>
    kernel(fs.workspace ? "bind mount at its own path" : "bind mount of the session's own directory, at its own path"),
  "fs.deps": ({ fs }) =>
    fs.deps === undefined
      ? kernel("nothing is mounted")
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
    return kernel(fs.mounts.length > 0 ? "bind mounts, nosuid and nodev" : "nothing is mounted");
  },
  "fs.deny": () => kernel("matching entries of every mount are covered when the cell starts"),
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
  "proc.timeout": () => supervisor("interrupt, then SIGKILL; the host ends the cell if the supervisor does not"),
  "proc.cpus": ({ proc }) =>
    Number.isInteger(proc.cpus)
      ? kernel("core affinity, which the system call filter keeps from being changed")
      : {
          reason: "sandbox-runtime has no limits, and fractions of a core need a cgroup",
          hint: `set proc.cpus to ${Math.ceil(proc.cpus)}, or use the process runner`,
        },
  "proc.memory": ({ proc }) =>
    supervisor(
      "sum of resident memory every 20 ms, RLIMIT_DATA for each process, " +
        `together with ${formatSize(proc.diskBytes)} for files in memory`,
    ),
  "proc.pids": () => kernel("RLIMIT_NPROC in an own user namespace"),
  "proc.files": () => kernel("RLIMIT_NOFILE for each process"),
  "proc.disk": () => ({
    by: "host watchdog",
    how: "size of the directory while runs go on, RLIMIT_FSIZE per file; files in memory elsewhere by the supervisor",
  }),
  "proc.output": () => supervisor("counted where the pipes are read; a runaway is interrupted"),
  "proc.background": ({ proc }) =>
    supervisor(proc.background ? "processes live on until the session ends" : "what a run leaves behind ends with it"),
  env: () =>
    kernel("sandbox-runtime passes on what it is given: it is started with nothing but these, PATH, HOME, LANG"),
  "session.recovery": ({ session }) =>
    supervisor(session.recovery === "off" ? "no copy is kept" : "a parked copy-on-write copy of the interpreter"),
  ...sessionRules,
  "kernel.preload": ({ kernel: { preload } }) =>
    supervisor(preload.length > 0 ? "imported before the first run" : "nothing"),
  "kernel.python": () => kernel("interpreter and libraries read-only, at their own place"),
  "kernel.image": ({ kernel: { image } }) =>
    image === undefined
      ? kernel("the host's own interpreter, and no image")
      : { reason: "this runner starts no images", hint: "leave kernel.image out, or use the container runner" },
};
