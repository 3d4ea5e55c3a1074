import type { OuterSandbox } from "../../../sessions/outer-sandbox.ts";
import type { Choice, InsideSandbox, ProbeAnswer } from "../sessions/session-types.ts";
import type { Style } from "./text/style.ts";
import { wrapText } from "./text/table.ts";

interface DiagnosedRunner {
  readonly name: string;
  readonly probe: ProbeAnswer;
  readonly insideSandbox?: InsideSandbox;
  readonly controlsMachine?: boolean | undefined;
}

/** Everything `doctor` found out. */
export interface Diagnosis {
  /** strongest first */
  readonly runners: readonly DiagnosedRunner[];
  /** what `auto` chooses under the strictest policy; undefined: no runner is available */
  readonly choice: (Pick<Choice, "passedOver"> & { readonly runner: string }) | undefined;
  /** another sandbox around this process */
  readonly outer: OuterSandbox | undefined;
  readonly versions: { readonly codecell: string; readonly node: string; readonly system: string };
}

/** The verdict first, then the runners that work, then how to get the others. What shares a fix is named together. */
export function diagnosisText({ runners, choice, outer, versions }: Diagnosis, style: Style, width: number): string {
  const available = runners.filter(isAvailable);
  const groups = unavailableGroups(runners);
  const labels = [...available.map(({ name }) => name), ...groups.map(({ names }) => names)];
  const column = Math.max(...labels.map((label) => label.length)) + 2;
  const detail = (text: string) =>
    wrapText(text, Math.max(40, width - column - 5)).map((line) => `${" ".repeat(column + 5)}${line}`);
  const lines = [...verdict(available.length, runners.length, choice, style), ...outerText(outer, runners, width)];
  if (available.length > 0) lines.push("");
  for (const { name, probe } of available) {
    if (!probe.available) continue;
    lines.push(`  ${style.green("✓")}  ${style.bold(name.padEnd(column))}available: ${probe.version}`);
    lines.push(...detail(`guarantees ${probe.guarantees.join(", ")}`));
  }
  if (groups.length > 0) lines.push("");
  for (const { names, reason, hint } of groups) {
    lines.push(`  ${style.red("✗")}  ${style.bold(names.padEnd(column))}not available: ${reason}`);
    if (hint !== "") lines.push(...detail(`fix: ${hint}`));
  }
  lines.push("", style.dim(`codecell ${versions.codecell}, Node ${versions.node}, ${versions.system}`));
  return `${lines.join("\n")}\n`;
}

/** What a reader wants to know: does it work here, and in which sandbox? */
function verdict(available: number, all: number, choice: Diagnosis["choice"], style: Style): string[] {
  if (choice === undefined) return [style.red("codecell cannot run code on this machine: no runner is available")];
  // An unavailable runner is listed below with its reason; one that refuses the default policy is not.
  const refused = choice.passedOver.filter(({ kind }) => kind !== "unavailable");
  return [
    `codecell works on this machine: ${available} of ${all} runners are available`,
    `auto chooses ${style.bold(choice.runner)}`,
    ...refused.map(({ runner, reason, hint }) => `  skipped ${runner}: ${reason}${hint === "" ? "" : ` (${hint})`}`),
  ];
}

/** Pure: runners that share a reason and a fix, in the order of the first of them. */
function unavailableGroups(runners: Diagnosis["runners"]): { names: string; reason: string; hint: string }[] {
  const groups = new Map<string, { names: string; reason: string; hint: string }>();
  for (const { name, probe } of runners) {
    if (probe.available) continue;
    const { reason, hint } = probe;
    const key = JSON.stringify([reason, hint]);
    const known = groups.get(key);
    groups.set(key, { names: known === undefined ? name : `${known.names}, ${name}`, reason, hint });
  }
  return [...groups.values()];
}

/** Names the sandbox around this process. If it may prevent every runner with namespaces from starting, adds the fix. */
function outerText(outer: Diagnosis["outer"], runners: Diagnosis["runners"], width: number): string[] {
  if (outer === undefined) return [];
  const affected = runners.filter(({ insideSandbox }) => insideSandbox === "blocked");
  const isInTheWay = affected.length > 0 && !affected.some(isAvailable);
  const text = `codecell runs inside ${outer.name}${isInTheWay ? `: ${outer.remedy}` : ""}`;
  return [text, ...warnings({ runners, outer })].flatMap((line) => wrapText(line, Math.max(40, width)));
}

/** Pure: what an operator should know of this setup, although everything works. */
function warnings({ runners, outer }: Pick<Diagnosis, "runners" | "outer">): string[] {
  const engines = runners.filter((runner) => runner.controlsMachine && isAvailable(runner)).map(({ name }) => name);
  if (outer?.kind !== "container" || engines.length === 0) return [];
  return [
    `warning: this container can use the engine of ${engines.join(", ")}: a bug in codecell, or whoever takes this container over, has that engine's rights, which are usually root on its host`,
  ];
}

function isAvailable({ probe }: DiagnosedRunner): boolean {
  return probe.available;
}

export function diagnosisJson({ runners, choice, outer, versions }: Diagnosis): object {
  return {
    ...versions,
    auto: choice?.runner ?? null,
    inside: outer ?? null,
    warnings: warnings({ runners, outer }),
    passed_over: choice?.passedOver ?? [],
    runners: runners.map(({ name, probe }) => ({ name, ...probe })),
  };
}
