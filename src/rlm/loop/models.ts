import type { Budget } from "../../llm/budget/budget.ts";
import type { LmRequest, LmResponse } from "../../llm/client.ts";

export interface ModelCallOptions {
  /** what the call is charged to, tokens and money */
  readonly budget: Budget;
  readonly signal: AbortSignal;
  readonly purpose: "root" | "sub" | "extract";
  /** the run that makes the call */
  readonly parent: string;
  /** whether the call may use what the budget keeps for the last turn */
  readonly isFinal: boolean;
}

export interface ModelReply {
  readonly response: LmResponse;
  /** null: the model has no price */
  readonly usd: number | null;
  /** answered from the cache or the tape, at no cost */
  readonly cached: boolean;
}

/** How the loop reaches models. It fails with `budget_exhausted` before anything is sent that the budget does not allow. */
export interface RlmModels {
  complete(request: LmRequest, options: ModelCallOptions): Promise<ModelReply>;
}
