import { z } from "zod";
import { type IsolationLevel, isolationLevels } from "../../policy/isolation.ts";
import type { RunResult } from "../../sessions/runs/run.ts";
import { receiptSchema } from "./receipt.ts";

const { shape } = receiptSchema;

/** The part of a receipt that a model can act on: what it must not rely on. */
export const receiptSummarySchema = z.strictObject({
  ...{ runner: shape.runner, runner_version: shape.runner_version, policy_hash: shape.policy_hash },
  isolation: z.enum(isolationLevels).describe("how strong the isolation is, as `isolation.minimum` names it"),
  enforced: z.int().describe("number of rules that are enforced"),
  not_enforced: z
    .array(
      z.strictObject({
        ...{ rule: shape.rules.element.shape.rule, value: shape.rules.element.shape.value },
        why: z.string(),
      }),
    )
    .describe("rules of the policy that nobody enforces"),
  details: z.string().describe("how to see every rule, and what enforces it"),
});
export type WireReceiptSummary = z.output<typeof receiptSummarySchema>;

export function encodeReceiptSummary(
  { runner, runnerVersion, policyHash, rules }: RunResult["receipt"],
  isolation: IsolationLevel,
): WireReceiptSummary {
  const open = rules.filter(({ by }) => by === "nobody");
  return {
    ...{ runner, runner_version: runnerVersion, policy_hash: policyHash, isolation },
    enforced: rules.length - open.length,
    not_enforced: open.map(({ rule, value, how }) => ({ rule, value, why: how })),
    details: "`codecell policy explain` shows every rule; over HTTP: GET /v1/sessions/{session}/runs/{run}/receipt",
  };
}
