import { CodecellError } from "../../../lib/errors.ts";
import { formatDuration, formatSize } from "../../../policy/format-units.ts";
import { duration, size, suggestDuration, suggestSize } from "../../../policy/units.ts";
import { defaultLimits, type HttpLimits } from "../../http/limits.ts";
import type { OptionSpec } from "../shell/arguments.ts";
import { parseCount } from "../shell/parse-count.ts";

type Kind = "count" | "size" | "duration";

interface LimitFlag<Limit extends keyof HttpLimits = keyof HttpLimits> {
  readonly limit: Limit;
  readonly kind: Kind;
  readonly help: string;
  readonly min: number;
  readonly max: number;
}

/** The limits of the service that an operator may change, and their ranges. No limit can be turned off. */
const limitFlags = {
  "max-body": limit("jsonBytes", "size", "Maximum size of a JSON body", 1024, 256 * 2 ** 20),
  "max-header": limit("headerBytes", "size", "Maximum size of a request's headers", 1024, 2 ** 20),
  "header-timeout": limit("headersMs", "duration", "Timeout for receiving the headers", 100, 300_000),
  "request-timeout": limit("requestMs", "duration", "Timeout for receiving a whole request", 100, 24 * 3_600_000),
  "stall-timeout": limit("stallMs", "duration", "Timeout for a client that stops reading", 100, 3_600_000),
  "max-connections": limit("connections", "count", "Maximum number of connections", 1, 100_000),
  "max-requests": limit("requests", "count", "Maximum number of concurrent requests", 1, 100_000),
  "max-requests-per-token": limit(
    "requestsPerToken",
    "count",
    "Maximum number of concurrent requests per token",
    1,
    100_000,
  ),
  "max-runs": limit("runs", "count", "Maximum number of concurrent runs", 1, 10_000),
  "max-runs-per-token": limit("runsPerToken", "count", "Maximum number of concurrent runs per token", 1, 10_000),
  "max-sessions-per-token": limit(
    "sessionsPerToken",
    "count",
    "Maximum number of sessions per token; overrides a higher value in the token",
    1,
    10_000,
  ),
} as const satisfies Readonly<Record<string, LimitFlag>>;

type LimitName = keyof typeof limitFlags;
type LimitFlags = Readonly<Partial<Record<LimitName, string | undefined>>>;

const names = Object.keys(limitFlags) as LimitName[];

export const limitOptions = Object.fromEntries(names.map((name) => [name, option(limitFlags[name])])) as Readonly<
  Record<LimitName, { readonly type: "string"; readonly value: string; readonly help: string }>
>;

/** The limits from the flags; the rest are the defaults. */
export function parseLimits(flags: LimitFlags): HttpLimits {
  const requested = names.flatMap((name) => {
    const text = flags[name];
    return text === undefined ? [] : [[limitFlags[name].limit, parse(name, text, limitFlags[name])] as const];
  });
  return { ...defaultLimits, ...Object.fromEntries(requested) };
}

/** The limits in force by the names of the flags, in bytes and milliseconds. */
export function limitsJson(limits: HttpLimits): Record<string, number> {
  const suffix: Record<Kind, string> = { count: "", size: "_bytes", duration: "_ms" };
  return Object.fromEntries(
    names.map((name) => [
      `${name.replaceAll("-", "_")}${suffix[limitFlags[name].kind]}`,
      limits[limitFlags[name].limit],
    ]),
  );
}

function limit<Limit extends keyof HttpLimits>(
  name: Limit,
  kind: Kind,
  help: string,
  min: number,
  max: number,
): LimitFlag<Limit> {
  return { limit: name, kind, help, min, max };
}

function option({ limit: name, kind, help }: LimitFlag): OptionSpec {
  const values: Record<Kind, string> = { count: "N", size: "SIZE", duration: "TIME" };
  return { type: "string", value: values[kind], help: `${help}. Default: ${text(kind, defaultLimits[name])}.` };
}

function parse(flag: string, given: string, { kind, min, max }: LimitFlag): number {
  if (kind === "count") return parseCount(`--${flag}`, given, { min, max });
  const [parsed, meant] = kind === "size" ? [size(), suggestSize(given)] : [duration(), suggestDuration(given)];
  const value = parsed.safeParse(given).data;
  if (value !== undefined && value >= min && value <= max) return value;
  const range = `from ${text(kind, min)} to ${text(kind, max)}`;
  const near = value === undefined && meant !== undefined ? { hint: `did you mean ${meant}?` } : {};
  throw new CodecellError("usage", `--${flag} ${JSON.stringify(given)} is not a ${kind} ${range}`, near);
}

function text(kind: Kind, value: number): string {
  if (kind === "count") return String(value);
  return kind === "size" ? formatSize(value) : formatDuration(value);
}
