import type { KernelClient } from "../../kernel/client.ts";
import type { ValueFormat } from "../../kernel/messages.ts";
import { CodecellError } from "../../lib/errors.ts";
import { assertExactIntegers } from "../../lib/json/inexact-integer.ts";
import { isJson } from "../../lib/json/is-json.ts";
import { JsonRefused, parseJson } from "../../lib/json/parse-json.ts";
import { valueJson } from "../../lib/json/value-json.ts";
import type { ReadOptions } from "./read-options.ts";

/** The default limit of a value that leaves a cell. */
export const defaultValueBytes = 256 * 1024 * 1024;
/** Python's encoder goes no deeper. */
const maxValueDepth = 1_000;
const defaultPreviewBytes = 64 * 1024;

/** A value, encoded for a variable. */
export interface EncodedValue {
  readonly format: "json" | "bytes" | "text";
  readonly body: Uint8Array;
}

/** Bytes and text as they are, anything else through JSON. */
export function encodeValue(name: string, value: unknown): EncodedValue {
  if (value instanceof Uint8Array) return { format: "bytes", body: value };
  if (typeof value === "string") return { format: "text", body: Buffer.from(value) };
  return { format: "json", body: Buffer.from(valueJson(name, value)) };
}

/** The value of an expression, as the kernel encodes it. A value over the limit is not sent. */
export async function readValue(
  kernel: KernelClient,
  expression: string,
  format: ValueFormat,
  options: ReadOptions & { readonly timeoutMs: number },
): Promise<Buffer> {
  const { maxBytes = format === "preview" ? defaultPreviewBytes : defaultValueBytes, timeoutMs, onBytes } = options;
  try {
    return await kernel.get(expression, format, { maxBytes, timeoutMs }, onBytes);
  } catch (error) {
    if (!(error instanceof CodecellError) || error.code !== "too_large") throw error;
    const hint = "request a part of it, such as x[:1000], or a summary; preview() returns the beginning";
    throw new CodecellError("too_large", error.message, { hint, cause: error });
  }
}

/** Far more than a value that a caller wants to have as objects. The parser takes about a second for it. */
const parsedLimits = { depth: maxValueDepth, keys: 1_000_000, values: 10_000_000, containers: 1_000_000 };

/**
 * Parses JSON from the cell. It may be invalid, because user code can replace the encoder. The attack: 256 MiB of nested or empty
 * arrays, which take the parser minutes and gigabytes.
 */
export function decodeJson(data: Buffer): unknown {
  const json = data.toString();
  const value = parsed(json);
  assertExactIntegers(json);
  return value;
}

function parsed(json: string): unknown {
  try {
    return parseJson(json, parsedLimits);
  } catch (error) {
    if (!(error instanceof JsonRefused)) throw notJson(error);
    const hint = "request a part of it or a summary, or write it to a file and read that";
    throw new CodecellError("too_large", `the value is refused: ${error.message}`, { hint, cause: error });
  }
}

/** Checks JSON from the cell without parsing it. */
export async function checkedJson(data: Buffer): Promise<Buffer> {
  if (await isJson(data, { maxDepth: maxValueDepth })) return data;
  throw notJson();
}

function notJson(cause?: unknown): CodecellError {
  return new CodecellError("variable_unserializable", "the cell's answer is not JSON", { cause });
}
