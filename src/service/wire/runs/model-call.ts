import { z } from "zod";
import type { Policy } from "../../../policy/schema.ts";
import type { LoggedCall, ModelSpend } from "../../rlm/model-log.ts";
import { encodeTime, timestamp } from "../timestamp.ts";

export const modelCallSchema = z.strictObject({
  at: timestamp.describe("when it ended"),
  by: z.string().describe("the run or sub-agent that made the call"),
  purpose: z.enum(["root", "sub", "extract"]),
  model: z.string(),
  input_tokens: z.int(),
  output_tokens: z.int(),
  cost_usd: z.number().nullable().describe("null: the model has no price"),
  duration_ms: z.int(),
  status: z.string().describe("`ok`, or the code of the failure"),
  source: z.enum(["model", "cache", "tape"]).nullable().describe("who answered; null: nobody was asked"),
});
export type WireModelCall = z.output<typeof modelCallSchema>;

export const modelSpendSchema = z.strictObject({
  calls: z.int().describe("calls of this session, like the fields below"),
  input_tokens: z.int(),
  output_tokens: z.int(),
  cost_usd: z.number(),
  budget_usd: z.number().nullable().describe("`llm.usd`, for all sessions of the token together; null: unlimited"),
  max_calls: z.int().nullable().describe("`llm.calls`, for each run and sub-agent; null: no model is allowed"),
});
export type WireModelSpend = z.output<typeof modelSpendSchema>;

export function encodeModelCall({ atMs, event }: LoggedCall): WireModelCall {
  const { by, purpose, model, inputTokens, outputTokens, costUsd = null, durationMs, status, source = null } = event;
  return {
    ...{ at: encodeTime(atMs), by, purpose, model, input_tokens: inputTokens, output_tokens: outputTokens },
    ...{ cost_usd: costUsd, duration_ms: Math.round(durationMs), status, source },
  };
}

export function encodeModelSpend(spend: ModelSpend, { models, usd, calls }: Policy["llm"]): WireModelSpend {
  return {
    ...{ calls: spend.calls, input_tokens: spend.inputTokens, output_tokens: spend.outputTokens },
    cost_usd: spend.costUsd,
    budget_usd: typeof usd === "number" ? usd : null,
    max_calls: models.length === 0 ? null : calls,
  };
}
