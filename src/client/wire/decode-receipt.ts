import type { EnforcedBy, EnforcementReceipt } from "../../runners/receipt.ts";
import { Fields } from "./fields.ts";

export function decodeReceipt(value: unknown): EnforcementReceipt {
  const receipt = new Fields(value, "the receipt");
  const network = receipt.optional("network", receipt.object);
  const reason = network?.optional("reason", network.text);
  return {
    runner: receipt.text("runner"),
    runnerVersion: receipt.text("runner_version"),
    policyHash: receipt.text("policy_hash"),
    rules: receipt.list("rules", (item, what) => {
      const rule = new Fields(item, what);
      const by = rule.text("by") as EnforcedBy; // shown to people; a newer service may know more
      return { rule: rule.text("rule"), value: rule.text("value"), by, how: rule.text("how") };
    }),
    notes: receipt.texts("notes"),
    ...(network
      ? {
          network: {
            carrier: network.oneOf("carrier", ["listener", "streams"]),
            ...(reason === undefined ? {} : { reason }),
          },
        }
      : {}),
  };
}
