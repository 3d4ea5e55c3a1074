import type { Plan, Receipt } from "../sessions/session-types.ts";
import { safeText } from "./safe-text.ts";
import type { Style } from "./style.ts";
import { tableLines, wrapText } from "./table.ts";

/** What a runner would do with each rule of a policy. */
export interface Explanation {
  readonly runner: string;
  readonly runnerVersion: string;
  readonly file: string | undefined;
  readonly plan: Plan;
  /** why no stronger runner, one sentence each */
  readonly passedOver: readonly string[];
}

export function explanationText(explanation: Explanation, style: Style, width: number): string {
  const { plan, runner, runnerVersion, file, passedOver } = explanation;
  const lines = [
    `policy: ${file ?? "none, so the tightest"}`,
    `runner: ${style.bold(runner)} (${runnerVersion})`,
    ...passedOver.map((line) => style.dim(line)),
    "",
    ...ruleTable(plan.rules, style, width),
  ];
  if (plan.refused.length > 0)
    lines.push("", style.red(style.bold("REFUSED: this runner would not start under this policy")));
  for (const { rule, value, reason, hint } of plan.refused) {
    lines.push(`  ${style.bold(rule)} (${safeText(value)}): ${safeText(reason)}`, `    hint: ${safeText(hint)}`);
  }
  lines.push(...noteLines(plan.notes, style, width));
  return `${lines.join("\n")}\n`;
}

/** A receipt as people read it. */
export function receiptText(receipt: Receipt, style: Style, width: number): string {
  const head = `${receipt.runner} (${receipt.runnerVersion}), policy sha256 ${receipt.policyHash.slice(0, 12)}…`;
  return `${[head, "", ...ruleTable(receipt.rules, style, width), ...noteLines(receipt.notes, style, width)].join("\n")}\n`;
}

function ruleTable(rules: Plan["rules"], style: Style, width: number): string[] {
  const rows = rules.map(({ rule, value, by, how }) => [rule, safeText(value), by, safeText(how)]);
  const [header = "", ...body] = tableLines(["RULE", "VALUE", "BY", "HOW"], rows, width);
  return [style.dim(header), ...body];
}

function noteLines(notes: readonly string[], style: Style, width: number): string[] {
  if (notes.length === 0) return [];
  const lines = notes.flatMap((note) =>
    wrapText(safeText(note), Math.max(40, width - 4)).map((line, index) => `${index === 0 ? "  - " : "    "}${line}`),
  );
  return ["", style.dim("NOTES"), ...lines];
}

export function explanationJson({ runner, runnerVersion, file, plan, passedOver }: Explanation): object {
  return {
    runner,
    runner_version: runnerVersion,
    file: file ?? null,
    holds: plan.refused.length === 0,
    rules: plan.rules,
    refused: plan.refused,
    notes: plan.notes,
    passed_over: passedOver,
  };
}
