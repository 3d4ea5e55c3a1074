/** Why codecell could not do what it was asked. A failing user program is a result, never one of these. */
export type CodecellErrorCode =
  /** the call itself is wrong: an argument, an option, a file that is not there */
  | "usage"
  /** the policy file or object does not parse */
  | "policy_invalid"
  /** the policy asks for more than the runner can hold */
  | "policy_refused"
  /** an override asks for more than its ceiling, or a model tried to widen */
  | "override_refused"
  /** the value of a secret that the policy names is missing, or cannot be sent */
  | "secret_unavailable"
  | "runner_unavailable"
  /** an image for cells could not be fetched, made or built */
  | "image_failed"
  /** the isolation could not be set up although the probe said it can */
  | "cell_start_failed"
  /** the cell died outside a run, or broke the protocol */
  | "cell_lost"
  | "session_closed"
  | "session_busy"
  /** no session has that id, alive or saved */
  | "session_unknown"
  /** the session ended without its caller's doing: idle, too old; the message says why */
  | "session_culled"
  /** as many sessions are alive as the policy allows */
  | "session_limit"
  /** as many runs go on as this caller, or the whole service, may have */
  | "run_limit"
  /** what was saved of a session cannot be read back */
  | "snapshot_damaged"
  | "checkpoint_unknown"
  /** this runner cannot do that */
  | "not_supported"
  /** a run that ended too long ago, or that never was */
  | "run_gone"
  /** the full output of a run is no longer kept */
  | "output_gone"
  | "language_unavailable"
  | "variable_missing"
  | "variable_unserializable"
  /** an expression asked for by `get` raised, or took too long */
  | "expression_failed"
  | "file_missing"
  /** a file that is not given out: a bad name, a link, a special file, a directory, or one that the policy denies */
  | "file_refused"
  /** code, a value or a file is over its limit */
  | "too_large"
  /** the policy wants everything written down for good before it counts, and that failed */
  | "audit_failed"
  /** what codecell keeps cannot be written or read: a full or read-only disk, a place that is no directory */
  | "disk_failed"
  | "aborted"
  | "internal";

/** What an error says beyond its code and message. */
export interface CodecellErrorOptions {
  /** what to do about it, in one sentence */
  readonly hint?: string;
  readonly cause?: unknown;
  /** machine-readable facts, such as the rule's path */
  readonly details?: Readonly<Record<string, unknown>>;
}

/** The one error of this project: a code to branch on, a message to read, a hint to act on. */
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

/** The text of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
