import { z } from "zod";
import type { RunResult } from "../../sessions/runs/run.ts";

export const receiptSchema = z.strictObject({
  runner: z.string(),
  runner_version: z.string(),
  policy_hash: z.string().describe("sha256 of the policy in force, in hex"),
  rules: z
    .array(
      z.strictObject({
        rule: z.string().describe("as written in the policy, such as `proc.memory`"),
        value: z.string().describe("the value in force, as written in a policy"),
        by: z.string().describe("who enforces it"),
        how: z.string().describe("the mechanism"),
      }),
    )
    .describe("every rule of the policy, and what enforces it"),
  notes: z.array(z.string()),
  network: z
    .strictObject({
      carrier: z
        .enum(["listener", "streams"])
        .describe(
          "`listener`: the proxy accepts connections on the cell's own socket; `streams`: on the cell's channel",
        ),
      reason: z.string().nullable().describe("why the faster carrier is not used"),
    })
    .nullable()
    .describe("how connections reach the proxy; null without a network"),
});
export type WireReceipt = z.output<typeof receiptSchema>;

export function encodeReceipt(receipt: RunResult["receipt"]): WireReceipt {
  const { runner, runnerVersion, policyHash, rules, notes, network } = receipt;
  return {
    ...{ runner, runner_version: runnerVersion, policy_hash: policyHash },
    rules: rules.map(({ rule, value, by, how }) => ({ rule, value, by, how })),
    notes: [...notes],
    network: network ? { carrier: network.carrier, reason: network.reason ?? null } : null,
  };
}
