import { type CellRuleName, isHostRule, policyRules } from "../policy/rules.ts";
import type { Policy } from "../policy/schema.ts";
import type { EnforcedBy, EnforcedRule, EnforcementPlan, RefusedRule } from "./receipt.ts";

/** Who enforces a rule, and how. */
export interface Held {
  readonly by: EnforcedBy;
  readonly how: string;
}

/** A runner's answer to one rule of a policy: it enforces the rule, or refuses it with a reason and a fix. */
export type Answer = Held | { readonly reason: string; readonly hint: string };

/** One row per rule of a cell. A table without a row for a rule does not compile. */
export type AnswerTable<Facts> = Readonly<Record<CellRuleName, (policy: Policy, facts: Facts) => Answer>>;

export const byOs = (how: string): Held => ({ by: "os", how });
export const bySupervisor = (how: string): Held => ({ by: "supervisor watchdog", how });
export const byHost = (how: string): Held => ({ by: "host", how });

/** Pure: a policy in, one answer per rule out. */
export function answerRules<Facts>(
  policy: Policy,
  table: AnswerTable<Facts>,
  facts: Facts,
  notes: readonly string[],
): EnforcementPlan {
  const rules: EnforcedRule[] = [];
  const refused: RefusedRule[] = [];
  for (const { rule, value } of policyRules(policy)) {
    if (isHostRule(rule)) continue;
    const answer = table[rule](policy, facts);
    if ("by" in answer) rules.push({ rule, value, ...answer });
    else refused.push({ rule, value, ...answer });
  }
  return { rules, refused, notes };
}
