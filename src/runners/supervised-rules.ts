import type { RuleName } from "../policy/rules.ts";
import type { Policy } from "../policy/schema.ts";
import { byHost, byOs, bySupervisor, type Held } from "./answer-rules.ts";

/** A run may print much more than is kept: its beginning and its end. Only a runaway is stopped (`RUNAWAY_BYTES` in the kernel). */
const cutOutput =
  "the middle of a longer output is cut and counted; a run that prints 16 times as much, and over 64MiB, is interrupted";

type SupervisedRule = Extract<
  RuleName,
  | "fs.deny"
  | "proc.files"
  | "proc.output"
  | "proc.background"
  | "session.recovery"
  | "session.checkpoints"
  | "session.undo"
  | "kernel.preload"
>;

/** Pure: which variables code finds in its environment, in the words of every runner on Linux. */
export function onlyVariables({ net }: Policy, own: readonly string[] = ["PATH", "HOME", "LANG"]): string {
  const names = [...own, "settings of libraries"];
  if (net.enabled) names.push("settings of the proxy");
  if (net.enabled && Object.keys(net.secrets).length > 0) names.push("placeholders of net.secrets");
  return `only these, ${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}

/** Rules that every runner with the Python supervisor enforces in the same way. */
export const supervisedRules: Readonly<Record<SupervisedRule, (policy: Policy) => Held>> = {
  "fs.deny": () => byOs("matching entries of every mount are hidden when the cell starts"),
  "proc.files": () => byOs("RLIMIT_NOFILE for each process"),
  "proc.output": () => bySupervisor(cutOutput),
  "proc.background": ({ proc }) =>
    bySupervisor(
      proc.background
        ? "processes keep running until the session ends"
        : "processes that a run leaves behind are killed",
    ),
  "session.recovery": ({ session }) =>
    bySupervisor(session.recovery === "off" ? "no copy is kept" : "a parked copy-on-write copy of the interpreter"),
  "session.checkpoints": () => byHost("counted by the session; the memory counts against the cell"),
  "session.undo": ({ session }) =>
    byHost(
      session.undo > 0
        ? "a copy before each run, the oldest is dropped; the memory counts against the cell"
        : "no copy is kept before a run",
    ),
  "kernel.preload": ({ kernel: { preload } }) =>
    bySupervisor(preload.length > 0 ? "imported before the first run" : "nothing to import"),
};
