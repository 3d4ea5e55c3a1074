import type { CodecellError } from "../../lib/errors.ts";
import type { Amount } from "../budget/amounts.ts";
import type { LmRequest, LmResponse } from "../client.ts";

/** What a call is for. */
export type CallPurpose = "root" | "sub" | "extract";

/** Who answered. Answers from the cache cost nothing; answers from a tape cost what they cost when they were recorded. */
export type AnswerSource = "model" | "cache" | "tape";

/** An answer, and what it cost. */
export interface LmAnswer extends LmResponse {
  readonly source: AnswerSource;
  readonly charged: Amount;
}

/** One call that has ended: for the audit and the trajectory. It has prompts and answers, and never a key. */
export interface LmCallEvent {
  readonly purpose: CallPurpose;
  /** the run or sub-agent that made the call */
  readonly parent: string;
  readonly hash: string;
  readonly request: LmRequest;
  readonly outcome: { readonly response: LmResponse } | { readonly error: CodecellError };
  /** undefined: nobody was asked */
  readonly source: AnswerSource | undefined;
  /** times that the model was asked */
  readonly attempts: number;
  /** the worst case that was held; zero if nothing was sent */
  readonly held: Amount;
  readonly charged: Amount;
  /** null: there is no price for this model */
  readonly usd: number | null;
  /** from the start of the call, waiting included */
  readonly durationMs: number;
  /** of that, waiting for a slot and for the budget */
  readonly waitedMs: number;
}
