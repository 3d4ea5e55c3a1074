import { CodecellError, type CodecellErrorCode } from "../../lib/errors.ts";

/** Codes that only HTTP has, as codes of codecell. `details.code` keeps what the service said. */
const httpCodes: Readonly<Record<string, CodecellErrorCode>> = {
  bad_request: "usage",
  unauthorized: "unauthorized",
  forbidden: "unauthorized",
  not_found: "not_supported",
  method_not_allowed: "not_supported",
  link_expired: "file_missing",
  link_stale: "file_missing",
  range_not_satisfiable: "usage",
  busy: "service_unavailable",
  draining: "service_unavailable",
};

/** Every code of codecell; a service may not invent others. */
const known: Readonly<Record<CodecellErrorCode, true>> = {
  ...{ usage: true, policy_invalid: true, policy_refused: true, override_refused: true, secret_unavailable: true },
  ...{
    runner_unavailable: true,
    image_failed: true,
    packages_failed: true,
    cell_start_failed: true,
    cell_lost: true,
    session_closed: true,
  },
  ...{ session_busy: true, session_unknown: true, session_culled: true, session_limit: true, run_limit: true },
  ...{
    snapshot_damaged: true,
    checkpoint_unknown: true,
    nothing_to_undo: true,
    not_supported: true,
    run_gone: true,
    output_gone: true,
  },
  ...{ language_unavailable: true, variable_missing: true, variable_unserializable: true, expression_failed: true },
  ...{ file_missing: true, file_refused: true, too_large: true, audit_failed: true, budget_exhausted: true },
  ...{ model_unavailable: true, model_failed: true, replay_drift: true, disk_failed: true, unauthorized: true },
  ...{ service_unavailable: true, aborted: true, internal: true },
};

/** Hints that name calls of the client instead of HTTP. */
const hints: Readonly<Partial<Record<string, string>>> = {
  unauthorized:
    "check the token that was passed to connect(); `codecell token ls` on the service's machine lists the names",
  session_unknown: "codecell.list() lists your sessions, codecell.session(id) opens one",
  session_culled: "codecell.session(id) starts an empty session with this id",
  not_found: "is this the address of `codecell serve`, and is it as new as this client?",
  method_not_allowed: "is the service as new as this client?",
};

/** What a service says about a failure. */
export interface ServiceFailure {
  readonly code: string;
  readonly message: string;
  readonly hint?: string | undefined;
}

/** The error of a service, as the library would throw it. */
export function serviceError({ code, message, hint }: ServiceFailure, status?: number): CodecellError {
  const ours = Object.hasOwn(known, code) ? (code as CodecellErrorCode) : undefined;
  const mapped = ours ?? (Object.hasOwn(httpCodes, code) ? httpCodes[code] : undefined) ?? "service_unavailable";
  const advice = (Object.hasOwn(hints, code) ? hints[code] : undefined) ?? hint;
  const details = {
    ...(status === undefined ? {} : { status }),
    ...(ours === code ? {} : { code: code.slice(0, 64) }),
  };
  return new CodecellError(mapped, message, { ...(advice === undefined ? {} : { hint: advice }), details });
}

/** The failure in the body of a response; undefined: the body is not from codecell. */
export function failureIn(body: unknown): ServiceFailure | undefined {
  if (typeof body !== "object" || body === null || !Object.hasOwn(body, "error")) return undefined;
  const { error } = body as { error: unknown };
  if (typeof error !== "object" || error === null) return undefined;
  const { code, message, hint } = error as Record<string, unknown>;
  if (typeof code !== "string" || typeof message !== "string") return undefined;
  return { code, message, ...(typeof hint === "string" ? { hint } : {}) };
}
