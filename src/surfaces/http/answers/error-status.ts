import type { CodecellErrorCode } from "../../../lib/errors.ts";
import { guestError } from "../../../service/guest-error.ts";
import { readableText } from "../../../service/output/readable-text.ts";
import { encodeError, type WireError } from "../../../service/wire/error.ts";

/** The HTTP status of each error of codecell. */
export const errorStatuses: Readonly<Record<CodecellErrorCode, number>> = {
  usage: 400,
  policy_invalid: 500,
  policy_refused: 403,
  override_refused: 403,
  secret_unavailable: 503,
  runner_unavailable: 503,
  image_failed: 503,
  packages_failed: 503,
  cell_start_failed: 503,
  cell_lost: 500,
  session_closed: 410,
  session_busy: 409,
  session_unknown: 404,
  session_culled: 410,
  session_limit: 429,
  run_limit: 429,
  snapshot_damaged: 500,
  checkpoint_unknown: 404,
  nothing_to_undo: 409,
  not_supported: 501,
  run_gone: 404,
  output_gone: 404,
  language_unavailable: 400,
  variable_missing: 404,
  variable_unserializable: 422,
  expression_failed: 422,
  file_missing: 404,
  file_refused: 403,
  too_large: 413,
  aborted: 499,
  audit_failed: 503,
  budget_exhausted: 402,
  model_unavailable: 503,
  model_failed: 502,
  replay_drift: 422,
  disk_failed: 507,
  unauthorized: 401,
  service_unavailable: 503,
  internal: 500,
};

/** Errors of the HTTP surface itself. */
export type HttpErrorCode =
  | "bad_request"
  | "unauthorized"
  | "forbidden"
  | "not_found"
  | "method_not_allowed"
  | "link_expired"
  | "link_stale"
  | "range_not_satisfiable"
  | "busy"
  | "draining";

const httpStatuses: Readonly<Record<HttpErrorCode, number>> = {
  bad_request: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  link_expired: 410,
  link_stale: 410,
  range_not_satisfiable: 416,
  busy: 429,
  draining: 503,
};

export class HttpError extends Error {
  override readonly name = "HttpError";
  readonly code: HttpErrorCode;
  readonly status: number;
  readonly hint: string | undefined;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    code: HttpErrorCode,
    message: string,
    options: { hint?: string; headers?: Record<string, string>; status?: number } = {},
  ) {
    super(message);
    this.code = code;
    this.status = options.status ?? httpStatuses[code];
    this.hint = options.hint;
    this.headers = options.headers ?? {};
  }
}

export interface ErrorReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: WireError;
}

/** Hints for HTTP that replace those of the library. */
const hints: Readonly<Partial<Record<CodecellErrorCode, string>>> = {
  session_unknown: "GET /v1/sessions lists your sessions, POST /v1/sessions starts one",
  session_culled: "POST /v1/sessions with its id starts an empty session with this id",
};

const maxCharacters = 8_000;
const retryAfter = { "retry-after": "1" };
const retryable = new Set([409, 429, 503]);

/** The response to any error. */
export function errorReply(error: unknown): ErrorReply {
  if (error instanceof HttpError) {
    const headers = retryable.has(error.status) ? { ...retryAfter, ...error.headers } : error.headers;
    return { status: error.status, headers, body: errorBody(error.code, error.message, error.hint) };
  }
  const { code, message, hint } = guestError(error);
  const status = errorStatuses[code];
  return {
    status,
    headers: retryable.has(status) && code !== "nothing_to_undo" ? retryAfter : {},
    body: errorBody(code, message, hints[code] ?? hint),
  };
}

function errorBody(code: string, message: string, hint: string | undefined): WireError {
  // parts of the text may come from a cell
  const text = (one: string) => readableText(one).slice(0, maxCharacters);
  return encodeError({ code, message: text(message), hint: hint === undefined ? undefined : text(hint) });
}
