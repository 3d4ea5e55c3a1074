import { CodecellError, type CodecellErrorCode } from "../../lib/errors.ts";

/** How one attempt to call a model failed. */
export type FailureReason =
  | "rate_limit"
  | "overloaded"
  | "server"
  | "network"
  | "timeout"
  /** the answer broke off */
  | "truncated"
  /** the answer is not what the API promises */
  | "malformed"
  /** the answer is larger than the client accepts */
  | "oversized"
  /** the server refused this request, and would refuse it again */
  | "rejected"
  /** the key is missing or refused */
  | "key"
  /** the server has no such model */
  | "model";

/** What is known of a failed attempt. */
export interface Failure {
  readonly reason: FailureReason;
  readonly isRetryable: boolean;
  /** The model may have answered: the provider may charge for it, up to the worst case. */
  readonly mayBeCharged: boolean;
  readonly status?: number;
  /** when the server wants to be asked again */
  readonly retryAfterMs?: number;
}

const codes: Readonly<Partial<Record<FailureReason, CodecellErrorCode>>> = {
  key: "model_unavailable",
  model: "model_unavailable",
};

const hints: Readonly<Record<FailureReason, string>> = {
  rate_limit: "lower the concurrency, or wait and try again",
  overloaded: "wait and try again",
  server: "wait and try again",
  network: "check the network and the base URL",
  timeout: "raise the time limit of a call, or lower maxTokens",
  truncated: "try again; if it happens again, check the base URL and any proxy in between",
  malformed: "check that the base URL speaks this API",
  oversized: "lower maxTokens",
  rejected: "correct the request: the message says what the server objects to",
  key: "set the key in the environment of codecell: ANTHROPIC_API_KEY or OPENAI_API_KEY",
  model: "check the name of the model: CODECELL_MODEL, CODECELL_SUB_MODEL or --model",
};

/** `message` and `cause` must not have secrets any more. */
export function failureError(message: string, failure: Failure, cause?: string): CodecellError {
  return new CodecellError(codes[failure.reason] ?? "model_failed", message, {
    hint: hints[failure.reason],
    details: { ...failure },
    // a new error: those of fetch and of libraries carry requests, headers and keys along
    ...(cause !== undefined && { cause: new Error(cause) }),
  });
}

/** What is known of an attempt that failed with this error; undefined for errors that do not come from a client. */
export function failureOf(error: unknown): Failure | undefined {
  if (!(error instanceof CodecellError) || !["model_failed", "model_unavailable"].includes(error.code))
    return undefined;
  const { reason, isRetryable, mayBeCharged, status, retryAfterMs } = error.details as Partial<Failure>;
  if (reason === undefined || isRetryable === undefined || mayBeCharged === undefined) return undefined;
  return {
    ...{ reason, isRetryable, mayBeCharged },
    ...(status !== undefined && { status }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  };
}
