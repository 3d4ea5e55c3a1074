import { liveRules } from "../policy/change/live-rules.ts";
import { type PolicyFieldName, showRule } from "../policy/rules.ts";
import type { Policy } from "../policy/schema.ts";
import type { EnforcedRule, EnforcementReceipt } from "../runners/receipt.ts";

/** The receipt of a cell whose policy is another one than it started under. What holds the rules is what held them before. */
export function receiptUnder(receipt: EnforcementReceipt, policy: Policy, policyHash: string): EnforcementReceipt {
  const rules = receipt.rules.map((row): EnforcedRule => {
    const rule = row.rule as PolicyFieldName;
    if (!liveRules.has(rule)) return row;
    const isTurnedOff = rule === "net.enabled" && row.by === "proxy" && !policy.net.enabled;
    const how = isTurnedOff ? { how: "the proxy refuses every request, because the network was turned off" } : {};
    return { ...row, ...how, value: showRule(policy, rule) };
  });
  return { ...receipt, policyHash, rules };
}
