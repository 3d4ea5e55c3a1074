import type { Plan, Receipt } from "../sessions/session-types.ts";
import { highlightedRules } from "./receipt-highlights.ts";
import { safeText } from "./text/safe-text.ts";
import type { Style } from "./text/style.ts";
import { tableLines, wrapText } from "./text/table.ts";

/** How a runner would enforce each rule of a policy. */
export interface Explanation {
  readonly runner: string;
  readonly runnerVersion: string;
  readonly file: string | undefined;
  readonly plan: Plan;
  /** why each stronger runner was skipped, one sentence each */
  readonly passedOver: readonly string[];
}

export function explanationText(explanation: Explanation, style: Style, width: number): string {
  const { plan, runner, runnerVersion, file, passedOver } = explanation;
  const lines = [
    `policy: ${file ?? "none, using the strictest defaults"}`,
    `runner: ${style.bold(runner)} (${runnerVersion})`,
    ...passedOver.map((line) => style.dim(line)),
    "",
    ...ruleTable(plan.rules, style, width),
  ];
  if (plan.refused.length > 0) lines.push("", style.red(style.bold("REFUSED: this runner cannot enforce the policy")));
  for (const { rule, value, reason, hint } of plan.refused) {
    lines.push(`  ${style.bold(rule)} (${safeText(value)}): ${safeText(reason)}`, `    hint: ${safeText(hint)}`);
  }
  lines.push(...noteLines(plan.notes, style, width));
  return `${lines.join("\n")}\n`;
}

/** A whole receipt as text. */
export function receiptText(receipt: Receipt, style: Style, width: number): string {
  const table = ruleTable(receipt.rules, style, width);
  return `${[receiptHead(receipt), "", ...table, ...noteLines(receipt.notes, style, width)].join("\n")}\n`;
}

/** The most important rows of a receipt, and where to find the others. */
export function shortReceiptText(receipt: Receipt, style: Style, width: number, whereAll: string): string {
  const rules = highlightedRules(receipt.rules);
  const left = receipt.rules.length - rules.length;
  const rest = `and ${left} more ${left === 1 ? "row" : "rows"}: ${whereAll}`;
  return `${[receiptHead(receipt), "", ...ruleTable(rules, style, width), "", style.dim(rest)].join("\n")}\n`;
}

function receiptHead({ runner, runnerVersion, policyHash }: Receipt): string {
  return `${runner} (${runnerVersion}), policy sha256 ${policyHash.slice(0, 12)}…`;
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
