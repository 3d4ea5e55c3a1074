import { CodecellError } from "../../lib/errors.ts";
import type { RunOptions } from "../../sessions/runs/run-options.ts";
import type { BodySource } from "../http/body-source.ts";

/** More text than this is streamed. */
const maxInlineCharacters = 256 * 1024;
const maxWaitSeconds = 60;
const maxTimeoutSeconds = 86_400;
const encoder = new TextEncoder();

/** The body of a request that starts a run, and the standard input that follows it. */
export function runRequest(
  code: string,
  options: RunOptions,
): { readonly body: object; readonly stdin: BodySource | undefined } {
  if (typeof code !== "string") throw new CodecellError("usage", `the code must be a string, not ${typeof code}`);
  const { language, timeout, args, file, stdin, whenBusy } = options;
  const isInline = typeof stdin === "string" && stdin.length <= maxInlineCharacters;
  const body = {
    code,
    ...(language === undefined ? {} : { language }),
    ...(timeout === undefined ? {} : { timeout: seconds(timeout) }),
    ...(args === undefined ? {} : { args }),
    ...(file === undefined ? {} : { file }),
    ...(whenBusy === "queue" ? { when_busy: "wait", wait: maxWaitSeconds } : {}),
    ...(stdin === undefined ? {} : isInline ? { stdin } : { stdin_stream: true }),
  };
  if (stdin === undefined || isInline) return { body, stdin: undefined };
  return { body, stdin: typeof stdin === "string" ? encoder.encode(stdin) : stdin };
}

const units: Readonly<Record<string, number>> = { ms: 0.001, s: 1, m: 60, h: 3600 };

/** A timeout as the library takes it, in seconds. */
function seconds(timeout: string | number): number {
  const [, amount, unit = ""] = /^(\d{1,15}(?:\.\d{1,6})?) ?(ms|s|m|h)$/.exec(String(timeout)) ?? [];
  const value = typeof timeout === "number" ? timeout / 1000 : Number(amount) * (units[unit] ?? Number.NaN);
  if (Number.isFinite(value) && value > 0) return Math.min(value, maxTimeoutSeconds);
  throw new CodecellError("usage", `${JSON.stringify(timeout)} is not a valid timeout`, {
    hint: 'use a duration such as "30s" or "5m", or milliseconds as a number',
  });
}
