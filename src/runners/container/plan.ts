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
import { scratchBytes } from "./container-spec.ts";
import type { Engine } from "./engine.ts";

type Answer = { by: EnforcedBy; how: string } | { refused: string; hint: string };
type Table = Record<RuleName, (policy: Policy, facts: ContainerFacts) => Answer>;

/** What decides how a policy is held. */
export interface ContainerFacts {
  readonly engine: Pick<Engine, "version" | "cgroupVersion" | "limits" | "seccomp" | "isRootless"> & {
    readonly name: string;
  };
  readonly runtime: string | undefined;
  readonly hasOwnKernel: boolean;
  /** the image of `kernel.image`, or the default one */
  readonly image: string;
  /** undefined: the engine does not have it */
  readonly imageId: string | undefined;
  readonly hasSessionDirectory: boolean;
}

const kernel = (how: string): Answer => ({ by: "kernel", how });
const supervisor = (how: string): Answer => ({ by: "supervisor watchdog", how });

/** One row per rule: who holds it in a container, and by what. */
const table: Table = {
  "isolation.minimum": (_, { engine, runtime, hasOwnKernel }) =>
    kernel(
      `${hasOwnKernel ? "a kernel of its own" : "namespaces"}, by ${engine.name} ${engine.version}` +
        (runtime === undefined ? "" : ` with the runtime ${runtime}`),
    ),
  "fs.workspace": ({ fs }, facts) => {
    if (fs.workspace) return kernel("bind mount");
    return kernel(
      facts.hasSessionDirectory ? "bind mount of the session's own directory" : "own tmpfs, gone with the session",
    );
  },
  "fs.deps": ({ fs }) => kernel(fs.deps ? "read-only bind mount" : "nothing is mounted"),
  "fs.mounts": ({ fs }) => kernel(fs.mounts.length > 0 ? "bind mounts" : "nothing is mounted"),
  "fs.deny": () => kernel("matching entries of every mount are covered when the cell starts"),
  "fs.load": () => loadedByHost,
  ...networkRules("network mode none: nothing but loopback"),
  "proc.timeout": () => supervisor("interrupt, then SIGKILL; the host ends the container if the supervisor does not"),
  "proc.cpus": (_, { engine }) =>
    engine.limits.cpus
      ? kernel(`cpu quota of the container, cgroup v${engine.cgroupVersion}`)
      : { refused: "the engine cannot limit cpus here", hint: "give its user the cpu controller" },
  "proc.memory": ({ proc, fs }, { engine, hasOwnKernel, hasSessionDirectory }) => {
    if (!engine.limits.memory)
      return { refused: "the engine cannot limit memory here", hint: "give its user the memory controller" };
    if (hasOwnKernel)
      return supervisor(
        "sum of resident memory every 20 ms, RLIMIT_DATA for each process, and a limit of the container",
      );
    const isOnDisk = fs.workspace !== undefined || hasSessionDirectory;
    const files = scratchBytes.tmp + scratchBytes.shared + (isOnDisk ? 0 : proc.diskBytes);
    return kernel(
      `memory limit of the container without swap, cgroup v${engine.cgroupVersion}, together with ${formatSize(files)} for files in memory`,
    );
  },
  "proc.pids": (_, { engine, hasOwnKernel }) => {
    if (!engine.limits.pids)
      return { refused: "the engine cannot limit processes here", hint: "give its user the pids controller" };
    return hasOwnKernel
      ? kernel("RLIMIT_NPROC in the cell's own kernel, a count by the supervisor, and a limit of the container")
      : kernel(`pids limit of the container, cgroup v${engine.cgroupVersion}`);
  },
  "proc.files": () => kernel("RLIMIT_NOFILE for each process"),
  "proc.disk": ({ fs }, facts) => {
    if (fs.workspace || facts.hasSessionDirectory)
      return { by: "host watchdog", how: "size of the directory while runs go on, RLIMIT_FSIZE per file" };
    return kernel("size limit of the tmpfs");
  },
  "proc.output": () => supervisor("counted where the pipes are read; a runaway is interrupted"),
  "proc.background": ({ proc }) =>
    supervisor(proc.background ? "processes live on until the session ends" : "what a run leaves behind ends with it"),
  env: () =>
    supervisor("the interpreter's environment holds these, PATH, HOME, LANG and settings of numerical libraries"),
  "session.recovery": ({ session }) =>
    supervisor(session.recovery === "off" ? "no copy is kept" : "a parked copy-on-write copy of the interpreter"),
  ...sessionRules,
  "kernel.preload": ({ kernel: { preload } }) =>
    supervisor(preload.length > 0 ? "imported before the first run" : "nothing"),
  "kernel.python": ({ kernel: { python } }) =>
    python === undefined
      ? kernel("python3 of the image")
      : { refused: "the image brings its own Python", hint: "leave kernel.python out, or use the process runner" },
  "kernel.image": (_, { image, imageId, engine }) =>
    imageId !== undefined
      ? kernel(`root file system of ${image}, read-only`)
      : {
          refused: `${engine.name} has no image ${image}`,
          hint: "codecell image build, or pull the image that kernel.image names",
        },
};

/** Pure: what this engine would do with a policy. */
export function planContainer(policy: Policy, facts: ContainerFacts): EnforcementPlan {
  const rules: EnforcedRule[] = [];
  const refused: RefusedRule[] = [];
  for (const { rule, value } of policyRules(policy)) {
    const answer = table[rule](policy, facts);
    if ("refused" in answer) refused.push({ rule, value, reason: answer.refused, hint: answer.hint });
    else rules.push({ rule, value, by: answer.by, how: answer.how });
  }
  return { rules, refused, notes: notes(facts) };
}

function notes({ engine, hasOwnKernel }: ContainerFacts): string[] {
  return [
    ...(hasOwnKernel
      ? [
          "code in the cell can end the parked copies of its interpreter: recovery then starts from nothing",
          "code in the cell can speak to the host in its supervisor's place, and so lie about its own session",
        ]
      : [
          "the cell shares the host's kernel: a kernel vulnerability reachable through the system call filters is not contained",
        ]),
    ...(engine.seccomp || hasOwnKernel
      ? []
      : [`${engine.name} has no system call filter of its own; ours is in place`]),
    ...(engine.isRootless ? ["root of the container is the user who runs the engine, without any capability"] : []),
  ];
}
