import { CodecellError } from "../lib/errors.ts";
import type { RunnerName } from "../policy/schema.ts";
import type { EnforcementPlan, EnforcementReceipt } from "./receipt.ts";

/**
 * The receipt of a cell that starts under a plan. It throws `policy_refused` if the plan refuses a rule, so a receipt
 * always comes from the plan that was checked.
 */
export function enforcedReceipt(
  plan: EnforcementPlan,
  cell: { readonly runner: RunnerName; readonly runnerVersion: string; readonly policyHash: string },
): EnforcementReceipt {
  if (plan.refused.length > 0) throw policyRefused(cell.runner, plan);
  const { runner, runnerVersion, policyHash } = cell;
  return { runner, runnerVersion, policyHash, rules: plan.rules, notes: plan.notes };
}

/** Pure: the rules that a plan refuses, each with its reason. The text continues a sentence that starts with the runner. */
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
