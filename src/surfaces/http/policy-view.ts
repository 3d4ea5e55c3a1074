import { z } from "zod";
import { policyHash } from "../../policy/hash.ts";
import type { PolicyChange } from "../../policy/merge.ts";
import type { Policy } from "../../policy/schema.ts";

export const sessionPolicySchema = z.object({
  policy_hash: z.string().describe("sha256 of the whole policy in force, as in receipts and in the audit"),
  net: z
    .object({ enabled: z.boolean(), allowlist: z.array(z.string()), deny: z.array(z.string()) })
    .describe("the rules that can change while the session lives"),
});

export const changedPolicySchema = sessionPolicySchema.extend({
  changes: z
    .array(z.object({ rule: z.string(), from: z.string(), to: z.string(), direction: z.enum(["narrower", "wider"]) }))
    .describe("what this call changed"),
});

export function sessionPolicyView(policy: Policy): z.output<typeof sessionPolicySchema> {
  const { enabled, allowlist, deny } = policy.net;
  return { policy_hash: policyHash(policy), net: { enabled, allowlist, deny } };
}

export function changedPolicyView(policy: Policy, changes: readonly PolicyChange[]) {
  return { ...sessionPolicyView(policy), changes };
}
