import type { Failure } from "./failure.ts";

/** What a response that is not a success means for the next attempt. Pure: facts in, decision out. */
export function failureOfStatus(status: number, headers: Headers, body: string, nowMs = Date.now()): Failure {
  const retryAfterMs = retryAfter(headers, nowMs);
  const after = retryAfterMs === undefined ? {} : { retryAfterMs };
  const base = { status, mayBeCharged: false };
  if (status === 401 || status === 403) return { ...base, reason: "key", isRetryable: false };
  if (status === 404) return { ...base, reason: "model", isRetryable: false };
  // an account without money answers 429 too, for ever
  if (status === 429 && /insufficient_quota|billing_not_active/.test(body))
    return { ...base, reason: "rejected", isRetryable: false };
  if (headers.get("x-should-retry") === "false") return { ...base, reason: "rejected", isRetryable: false };
  if (status === 429) return { ...base, ...after, reason: "rate_limit", isRetryable: true };
  if (status === 529 || status === 503) return { ...base, ...after, reason: "overloaded", isRetryable: true };
  // a proxy lost the model behind it or gave up, and the model may have gone on
  const mayBeCharged = [408, 502, 504, 520, 524].includes(status);
  if ([408, 504, 524].includes(status))
    return { ...base, ...after, reason: "timeout", isRetryable: true, mayBeCharged };
  if (status >= 500) return { ...base, ...after, reason: "server", isRetryable: true, mayBeCharged };
  return { ...base, reason: "rejected", isRetryable: false };
}

/** `retry-after` in milliseconds: a number of seconds, or a date that is compared with the server's own clock if it tells it. */
export function retryAfter(headers: Headers, nowMs: number): number | undefined {
  const exact = Number(headers.get("retry-after-ms") ?? Number.NaN);
  if (exact >= 0) return exact;
  const value = headers.get("retry-after")?.trim();
  if (!value) return undefined;
  const seconds = Number(value);
  if (Number.isFinite(seconds)) return seconds >= 0 ? seconds * 1000 : undefined;
  const at = Date.parse(value);
  if (Number.isNaN(at)) return undefined;
  const serverNow = Date.parse(headers.get("date") ?? "");
  return Math.max(0, at - (Number.isNaN(serverNow) ? nowMs : serverNow));
}

/** Errors of fetch after which certainly nothing reached the server. */
const unsent = /^(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ENETUNREACH|EHOSTUNREACH|UND_ERR_CONNECT_TIMEOUT)$/;
const badCertificate = /^(?:CERT_|ERR_TLS_|ERR_SSL_|DEPTH_ZERO_SELF_SIGNED|SELF_SIGNED|UNABLE_TO_)/;

/** What an error of the connection means, by its code. */
export function failureOfConnection(code: string, hasResponse: boolean): Failure {
  if (hasResponse) return { reason: "truncated", isRetryable: true, mayBeCharged: true };
  if (badCertificate.test(code)) return { reason: "network", isRetryable: false, mayBeCharged: false };
  return { reason: "network", isRetryable: true, mayBeCharged: !unsent.test(code) };
}
