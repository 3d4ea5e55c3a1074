import { policyRules, type RuleName } from "../../policy/rules.ts";
import type { Policy } from "../../policy/schema.ts";
import { formatSize } from "../../policy/units.ts";
import { networkRules } from "../network-rules.ts";
import {
  type EnforcedBy,
  type EnforcedRule,
  type EnforcementPlan,
  loadedByHost,
  type RefusedRule,
} from "../receipt.ts";
import { sessionRules } from "../session-rules.ts";
import { privateFilesBytes } from "./cell-config.ts";
import { type CgroupController, cgroupHolds } from "./cgroup.ts";
import type { ProcessFacts } from "./process-facts.ts";

type Answer = { by: EnforcedBy; how: string } | { refused: string; hint: string };
type Table = Record<RuleName, (policy: Policy, facts: PlanFacts) => Answer>;

interface PlanFacts extends ProcessFacts {
  /** the session has a directory of its own on the host */
  readonly hasSessionDirectory: boolean;
}

const kernel = (how: string): Answer => ({ by: "kernel", how });
const supervisor = (how: string): Answer => ({ by: "supervisor watchdog", how });

/** One row per rule: who holds it here, and by what. */
const table: Table = {
  "isolation.minimum": (_, facts) => kernel(`namespaces by bubblewrap ${facts.bubblewrap}, ${facts.layout} layout`),
  "fs.workspace": ({ fs }, facts) => {
    if (fs.workspace) return kernel("bind mount in an own mount namespace");
    return kernel(
      facts.hasSessionDirectory ? "bind mount of the session's own directory" : "own tmpfs, gone with the session",
    );
  },
  "fs.deps": ({ fs }) => kernel(fs.deps ? "read-only bind mount" : "nothing is mounted"),
  "fs.mounts": ({ fs }) => kernel(fs.mounts.length > 0 ? "bind mounts, nosuid and nodev" : "nothing is mounted"),
  "fs.deny": () => kernel("matching entries of every mount are covered when the cell starts"),
  "fs.load": () => loadedByHost,
  ...networkRules("own network namespace with nothing but loopback"),
  "proc.timeout": () => supervisor("interrupt, then SIGKILL; the host ends the cell if the supervisor does not"),
  "proc.cpus": ({ proc }, facts) => cpus(proc.cpus, facts),
  "proc.memory": (policy, facts) =>
    cgroupHolds(facts.cgroups, "memory")
      ? kernel(
          `${group(facts, "memory", "memory.max", "memory.limit_in_bytes")}, together with ` +
            `${formatSize(privateFilesBytes(policy, facts.hasSessionDirectory))} for files in memory`,
        )
      : supervisor("sum of resident memory every 20 ms, RLIMIT_DATA for each process"),
  "proc.pids": (_, facts) =>
    cgroupHolds(facts.cgroups, "pids")
      ? kernel(group(facts, "pids", "pids.max", "pids.max"))
      : kernel("RLIMIT_NPROC in an own user namespace"),
  "proc.files": () => kernel("RLIMIT_NOFILE for each process"),
  "proc.disk": ({ fs }, facts) => {
    if (fs.workspace || facts.hasSessionDirectory)
      return { by: "host watchdog", how: "size of the directory while runs go on, RLIMIT_FSIZE per file" };
    return kernel(facts.layout === "template" ? "size and inode limit of the tmpfs" : "size limit of the tmpfs");
  },
  "proc.output": () => supervisor("counted where the pipes are read; a runaway is interrupted"),
  "proc.background": ({ proc }) =>
    supervisor(proc.background ? "processes live on until the session ends" : "what a run leaves behind ends with it"),
  env: () => kernel("the environment is empty but for these, PATH, HOME, LANG and settings of libraries"),
  "session.recovery": ({ session }) =>
    supervisor(session.recovery === "off" ? "no copy is kept" : "a parked copy-on-write copy of the interpreter"),
  ...sessionRules,
  "kernel.preload": ({ kernel: { preload } }) =>
    supervisor(preload.length > 0 ? "imported before the first run" : "nothing"),
  "kernel.python": () => kernel("interpreter and libraries mounted read-only"),
  "kernel.image": ({ kernel: { image } }) =>
    image === undefined
      ? kernel("the host's own interpreter, and no image")
      : { refused: "this runner starts no images", hint: "leave kernel.image out, or use the container runner" },
};

/** Pure: what this host would do with a policy. */
export function planProcess(policy: Policy, host: ProcessFacts, hasSessionDirectory = false): EnforcementPlan {
  const facts = { ...host, hasSessionDirectory };
  const rules: EnforcedRule[] = [];
  const refused: RefusedRule[] = [];
  for (const { rule, value } of policyRules(policy)) {
    const answer = table[rule](policy, facts);
    if ("refused" in answer) refused.push({ rule, value, reason: answer.refused, hint: answer.hint });
    else rules.push({ rule, value, by: answer.by, how: answer.how });
  }
  return { rules, refused, notes: notes(facts) };
}

function notes(facts: ProcessFacts): string[] {
  return [
    "the cell shares the host's kernel: a kernel vulnerability reachable through the system call filter is not contained",
    ...(facts.layout === "template" ? ["cells of one policy share address layout and hash seed"] : []),
    ...(facts.cgroups.kind === "none" ? [`no control groups: ${facts.cgroups.reason}`] : []),
  ];
}

function group(facts: ProcessFacts, controller: CgroupController, v2: string, v1: string): string {
  return facts.cgroups.kind === "v2" ? `cgroup v2 ${v2}` : `cgroup v1 ${controller} ${v1}`;
}

/** Without a quota only whole cores can be held: by an affinity that the filter keeps user code from changing. */
function cpus(asked: number, facts: ProcessFacts): Answer {
  if (cgroupHolds(facts.cgroups, "cpu")) return kernel(group(facts, "cpu", "cpu.max", "cpu.cfs_quota_us"));
  if (Number.isInteger(asked)) return kernel("core affinity, which the system call filter keeps from being changed");
  return {
    refused: "fractions of a core need a cgroup with the cpu controller, and there is none here",
    hint: `set proc.cpus to ${Math.ceil(asked)}, or run where cgroups are writable`,
  };
}
