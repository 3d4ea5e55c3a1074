import { type CellRuleName, isHostRule, policyRules } from "../policy/rules.ts";
import type { Policy } from "../policy/schema.ts";
import type { EnforcedBy, EnforcedRule, EnforcementPlan, RefusedRule } from "./receipt.ts";

/** Who holds a rule, and by what. */
export interface Held {
  readonly by: EnforcedBy;
  readonly how: string;
}

/** What a runner says to one rule of a policy: it holds it, or it refuses and says what would. */
export type Answer = Held | { readonly reason: string; readonly hint: string };

/** One row per rule that a runner answers for: a rule without an answer does not compile. */
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
