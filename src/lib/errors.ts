/** Why codecell failed. A user program that fails is a result, never one of these. */
export type CodecellErrorCode =
  /** the call itself is wrong: an argument, an option, a missing file */
  | "usage"
  /** the policy file or object does not parse */
  | "policy_invalid"
  /** the policy has a rule that the runner cannot enforce */
  | "policy_refused"
  /** an override exceeds its ceiling, or a model tried to widen the policy */
  | "override_refused"
  /** the value of a secret that the policy names is missing, or cannot be sent */
  | "secret_unavailable"
  | "runner_unavailable"
  /** an image for cells could not be fetched or built */
  | "image_failed"
  /** packages could not be found, were refused by the rules or could not be downloaded; `details.reason` says which */
  | "packages_failed"
  /** the sandbox could not be set up although the probe succeeded */
  | "cell_start_failed"
  /** the cell exited outside a run, or violated the protocol */
  | "cell_lost"
  | "session_closed"
  | "session_busy"
  /** no open or saved session has that id */
  | "session_unknown"
  /** the session expired: idle or too old; the message says why */
  | "session_culled"
  /** the policy's limit of open sessions is reached */
  | "session_limit"
  /** the limit of concurrent runs, of this caller or of the service, is reached */
  | "run_limit"
  /** a saved session cannot be read */
  | "snapshot_damaged"
  | "checkpoint_unknown"
  /** no run of this session can be undone now */
  | "nothing_to_undo"
  /** this runner cannot do that */
  | "not_supported"
  /** the run ended too long ago, or never existed */
  | "run_gone"
  /** the full output of a run is no longer kept */
  | "output_gone"
  | "language_unavailable"
  | "variable_missing"
  | "variable_unserializable"
  /** an expression of `get` raised or timed out */
  | "expression_failed"
  | "file_missing"
  /** a file that may not be read or written: a bad name, a link, a special file, a directory, or denied by the policy */
  | "file_refused"
  /** code, a value or a file is over its limit */
  | "too_large"
  /** the policy requires a durable audit, and it could not be written */
  | "audit_failed"
  /** a cap on model calls, tokens or money does not allow another call */
  | "budget_exhausted"
  /** the model cannot be called: no key, no such model, no price under a money cap, or the policy does not allow it */
  | "model_unavailable"
  /** the model's server failed, timed out or sent something unreadable, retries included */
  | "model_failed"
  /** a replay asks a model something that is not on its tape */
  | "replay_drift"
  /** codecell's own files cannot be written or read: a full or read-only disk, a path that is not a directory */
  | "disk_failed"
  /** the service does not accept the caller's token, or the token does not allow the call */
  | "unauthorized"
  /** the service cannot be reached, is too busy, is shutting down, or sent something unreadable */
  | "service_unavailable"
  | "aborted"
  | "internal";

/** Details of an error besides its code and message. */
export interface CodecellErrorOptions {
  /** what to do about it, in one sentence */
  readonly hint?: string;
  readonly cause?: unknown;
  /** machine-readable facts, such as the rule's path */
  readonly details?: Readonly<Record<string, unknown>>;
}

/** The only error class of this project: a code to branch on, a message to read, a hint to act on. */
export class CodecellError extends Error {
  override readonly name = "CodecellError";
  readonly code: CodecellErrorCode;
  readonly hint: string | undefined;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: CodecellErrorCode, message: string, options: CodecellErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.hint = options.hint;
    this.details = options.details ?? {};
  }
}

/** The message of any thrown value. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
