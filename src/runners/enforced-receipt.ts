import { CodecellError } from "../lib/errors.ts";
import type { RunnerName } from "../policy/schema.ts";
import type { EnforcementPlan, EnforcementReceipt } from "./receipt.ts";

/**
 * The receipt of a cell that starts under a plan. A plan that refuses a rule throws `policy_refused`: a receipt is made of
 * the plan that was checked, and of no other.
 */
export function enforcedReceipt(
  plan: EnforcementPlan,
  cell: { readonly runner: RunnerName; readonly runnerVersion: string; readonly policyHash: string },
): EnforcementReceipt {
  if (plan.refused.length > 0) throw policyRefused(cell.runner, plan);
  const { runner, runnerVersion, policyHash } = cell;
  return { runner, runnerVersion, policyHash, rules: plan.rules, notes: plan.notes };
}

/** Pure: the rules that a plan refuses, each with its reason; the runner is the subject of this sentence. */
export function refusalOf({ refused }: EnforcementPlan): string {
  return `refuses ${refused.map(({ rule, value, reason }) => `${rule} (${value}): ${reason}`).join("; ")}`;
}

/** The error for a policy that a runner cannot enforce, naming every rule. */
export function policyRefused(runner: RunnerName, plan: EnforcementPlan): CodecellError {
  return new CodecellError("policy_refused", `the ${runner} runner ${refusalOf(plan)}`, {
    hint: [...new Set(plan.refused.map((one) => one.hint))].join("; "),
    details: { runner, refused: plan.refused },
  });
}
