/** One turn of a conversation with a model. */
export interface LmMessage {
  readonly role: "user" | "assistant";
  readonly text: string;
}

/** What is asked of a model. Everything in it, and nothing else, decides the answer. */
export interface LmRequest {
  /** `anthropic/claude-…`, `openai/gpt-…`, or a bare name */
  readonly model: string;
  readonly system?: string;
  /** The last one is the user's: current models refuse to continue a text of their own. */
  readonly messages: readonly LmMessage[];
  /** most tokens of the answer, reasoning included */
  readonly maxTokens: number;
  /** Leave it out unless you need it: many current models accept only their default. */
  readonly temperature?: number;
  /** Whether the provider should cache everything up to the last message. */
  readonly cachePrefix?: boolean;
  readonly stop?: readonly string[];
}

/** Tokens of one answer, by kind. */
export interface LmUsage {
  /** input that was neither read from the provider's cache nor written to it */
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
  /** the part of `outputTokens` that is reasoning */
  readonly reasoningTokens: number;
}

/** Why the model stopped. `max_tokens`: the answer is cut off. */
export type LmStop = "end" | "max_tokens" | "refusal" | "other";

/** The answer of a model. */
export interface LmResponse {
  readonly text: string;
  readonly stop: LmStop;
  readonly usage: LmUsage;
  /** The server did not say what it used: `usage` is an upper bound. */
  readonly isUsageEstimated?: boolean;
  /** the provider's id of this answer */
  readonly requestId?: string;
}

/** A way to reach models. It sends one request once: retries, budgets and limits are the gateway's. */
export interface LmClient {
  /** which server it speaks to, without credentials: part of the cache key */
  readonly name: string;
  /** Fails with `model_failed`, `model_unavailable` or `aborted`. */
  complete(request: LmRequest, options: { readonly signal: AbortSignal }): Promise<LmResponse>;
}
