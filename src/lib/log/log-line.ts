import { CodecellError } from "../errors.ts";

export const logLevels = ["debug", "info", "warn", "error"] as const;
export type LogLevel = (typeof logLevels)[number];

export const logFormats = ["text", "json"] as const;
export type LogFormat = (typeof logFormats)[number];

export interface LogEntry {
  readonly timeMs: number;
  readonly level: LogLevel;
  readonly message: string;
  readonly facts: Readonly<Record<string, unknown>>;
}

const maxTextCharacters = 4_096;
const maxDepth = 4;
const maxItems = 50;
/** Characters that JSON does not escape and a terminal obeys: the rest of C0 and C1, and text direction marks. */
const unsafe = /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;
const credential = /\b(Bearer|Basic)\s+[\w.~+/=-]{8,}/gi;

/**
 * One message as one line, for programs (`json`) or for people (`text`). The attacks: a name with a line feed that forges
 * another message; an escape sequence that controls the reader's terminal; a credential in the text of an error.
 */
export function logLine(
  { timeMs, level, message, facts }: LogEntry,
  format: LogFormat,
  hide: (text: string) => string = (text) => text,
): string {
  const plain = (value: unknown) => harmless(value, hide, 0);
  const time = new Date(timeMs).toISOString();
  const known = Object.entries(facts).map(([name, value]) => [name, plain(value)] as const);
  if (format === "json") {
    // the standard fields come last, so that no other field overrides them
    const line = { ...Object.fromEntries(known), time, level, message: plain(message) };
    const { time: first, level: second, message: third, ...rest } = line;
    return `${asJson({ time: first, level: second, message: third, ...rest })}\n`;
  }
  const words = known
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${oneLine(name)}=${word(value)}`);
  return `${[time, level.padEnd(5), oneLine(String(plain(message))), ...words].join(" ")}\n`;
}

function harmless(value: unknown, hide: (text: string) => string, depth: number): unknown {
  if (typeof value === "string") return hide(value.slice(0, maxTextCharacters)).replace(credential, "$1 [hidden]");
  if (typeof value === "bigint" || typeof value === "symbol" || typeof value === "function") return String(value);
  if (typeof value !== "object" || value === null) return value;
  if (depth >= maxDepth) return "…";
  const inner = (item: unknown) => harmless(item, hide, depth + 1);
  if (value instanceof Error) return errorFacts(value, inner);
  if (ArrayBuffer.isView(value)) return `${value.byteLength} bytes`;
  if (Array.isArray(value)) return value.slice(0, maxItems).map(inner);
  const entries = Object.entries(value).slice(0, maxItems);
  return Object.fromEntries(entries.map(([name, item]) => [inner(name), inner(item)]));
}

function errorFacts(error: Error, inner: (item: unknown) => unknown): object {
  const code = error instanceof CodecellError ? error.code : (error as NodeJS.ErrnoException).code;
  return {
    ...(code === undefined ? {} : { code: inner(code) }),
    message: inner(error.message),
    ...(error.cause === undefined ? {} : { cause: inner(error.cause) }),
  };
}

function word(value: unknown): string {
  if (typeof value === "string" && /^[\w./:@+-]+$/.test(value)) return value;
  return asJson(value);
}

function oneLine(text: string): string {
  return asJson(text).slice(1, -1).replaceAll('\\"', '"');
}

function asJson(value: unknown): string {
  const escaped = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return (JSON.stringify(value) ?? "null").replace(unsafe, escaped);
}
