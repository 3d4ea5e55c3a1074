import { z } from "zod";
import type { PolicyChange } from "../../policy/change/merge.ts";
import { formatSize } from "../../policy/format-units.ts";
import { policyHash } from "../../policy/hash.ts";
import type { Policy } from "../../policy/schema.ts";

export const sessionPolicySchema = z.object({
  policy_hash: z.string().describe("sha256 of the policy in force, as in receipts and in the audit"),
  net: z
    .object({
      ...{ enabled: z.boolean(), allowlist: z.array(z.string()), deny: z.array(z.string()) },
      ...{ connections: z.number(), requests: z.number(), sent: z.string(), received: z.string() },
    })
    .describe("the rules that can change in a live session"),
});

export const changedPolicySchema = sessionPolicySchema.extend({
  changes: z
    .array(z.object({ rule: z.string(), from: z.string(), to: z.string(), direction: z.enum(["narrower", "wider"]) }))
    .describe("what this call changed"),
});

export function sessionPolicyView(policy: Policy): z.output<typeof sessionPolicySchema> {
  const { sentBytes, receivedBytes, enabled, allowlist, deny, connections, requests } = policy.net;
  const sizes = { sent: formatSize(sentBytes), received: formatSize(receivedBytes) };
  return { policy_hash: policyHash(policy), net: { enabled, allowlist, deny, connections, requests, ...sizes } };
}

export function changedPolicyView(policy: Policy, changes: readonly PolicyChange[]) {
  return { ...sessionPolicyView(policy), changes };
}
