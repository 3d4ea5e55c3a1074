import type { OuterSandbox } from "../../../sessions/outer-sandbox.ts";
import type { Choice, InsideSandbox, ProbeAnswer } from "../sessions/session-types.ts";
import type { Style } from "./style.ts";
import { wrapText } from "./table.ts";

interface DiagnosedRunner {
  readonly name: string;
  readonly probe: ProbeAnswer | "not in this version";
  readonly insideSandbox?: InsideSandbox;
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

export function diagnosisText({ runners, choice, outer, versions }: Diagnosis, style: Style, width: number): string {
  const lines = [`codecell ${versions.codecell}, Node ${versions.node}, ${versions.system}`, ""];
  const column = Math.max(...runners.map(({ name }) => name.length)) + 2;
  const detail = (text: string) =>
    wrapText(text, Math.max(40, width - column - 4)).map((line) => `${" ".repeat(column + 4)}${line}`);
  for (const { name, probe } of runners) {
    const label = name.padEnd(column);
    if (probe === "not in this version") {
      lines.push(style.dim(`  -  ${label}not in this version`));
    } else if (probe.available) {
      lines.push(`  ${style.green("✓")}  ${style.bold(label)}available: ${probe.version}`);
      lines.push(...detail(` guarantees ${probe.guarantees.join(", ")}`));
    } else {
      lines.push(`  ${style.red("✗")}  ${style.bold(label)}not available: ${probe.reason}`);
      lines.push(...detail(` fix: ${probe.hint}`));
    }
  }
  lines.push(...outerText(outer, runners, width));
  lines.push("", ...choiceText(choice, runners, style));
  return `${lines.join("\n")}\n`;
}

/** Names the sandbox around this process. If it may prevent every runner with namespaces from starting, adds the fix. */
function outerText(outer: Diagnosis["outer"], runners: Diagnosis["runners"], width: number): string[] {
  if (outer === undefined) return [];
  const affected = runners.filter(({ insideSandbox }) => insideSandbox === "blocked");
  const isInTheWay = affected.length > 0 && !affected.some(isAvailable);
  const text = `codecell runs inside ${outer.name}${isInTheWay ? `: ${outer.remedy}` : ""}`;
  return ["", ...wrapText(text, Math.max(40, width))];
}

function isAvailable({ probe }: DiagnosedRunner): boolean {
  return probe !== "not in this version" && probe.available;
}

function choiceText(choice: Diagnosis["choice"], runners: Diagnosis["runners"], style: Style): string[] {
  if (choice === undefined) return [style.red("auto: no runner is available")];
  const stronger = runners.slice(
    0,
    runners.findIndex(({ name }) => name === choice.runner),
  );
  const why = stronger.map(({ name, probe }) => {
    const passed = choice.passedOver.find((one) => one.runner === name);
    if (passed !== undefined) return `  skipped ${name}: ${passed.reason}`;
    return `  skipped ${name}${probe === "not in this version" ? `: ${probe}` : ""}`;
  });
  return [`auto chooses ${style.bold(choice.runner)}`, ...why];
}

export function diagnosisJson({ runners, choice, outer, versions }: Diagnosis): object {
  return {
    ...versions,
    auto: choice?.runner ?? null,
    inside: outer ?? null,
    passed_over: choice?.passedOver ?? [],
    runners: runners.map(({ name, probe }) =>
      probe === "not in this version" ? { name, available: false, reason: probe, hint: null } : { name, ...probe },
    ),
  };
}
