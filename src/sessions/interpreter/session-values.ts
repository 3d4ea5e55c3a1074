import type { KernelClient } from "../../kernel/client.ts";
import type { ValueFormat } from "../../kernel/messages.ts";
import { CodecellError } from "../../lib/errors.ts";

/** What may leave a cell at once, unless the caller says otherwise. */
export const defaultValueBytes = 256 * 1024 * 1024;
const defaultPreviewBytes = 64 * 1024;

/** How long reading a value may take, and how much of it may leave the cell. */
export interface ReadOptions {
  /** the policy's `proc.timeout` unless told */
  readonly timeoutMs?: number;
  /** what may leave the cell: 256 MiB, and 64 KiB of a preview, unless told */
  readonly maxBytes?: number;
}

/** A value on its way into a variable. */
export interface EncodedValue {
  readonly format: "json" | "bytes" | "text";
  readonly body: Uint8Array;
}

/** Bytes and text as they are, anything else through JSON. */
export function encodeValue(name: string, value: unknown): EncodedValue {
  if (value instanceof Uint8Array) return { format: "bytes", body: value };
  if (typeof value === "string") return { format: "text", body: Buffer.from(value) };
  return { format: "json", body: Buffer.from(jsonOf(name, value)) };
}

/** The value of an expression, as the kernel encodes it. What is over the limit stays in the cell. */
export async function readValue(
  kernel: KernelClient,
  expression: string,
  format: ValueFormat,
  options: ReadOptions & { readonly timeoutMs: number },
): Promise<Buffer> {
  const { maxBytes = format === "preview" ? defaultPreviewBytes : defaultValueBytes, timeoutMs } = options;
  try {
    return await kernel.get(expression, format, { maxBytes, timeoutMs });
  } catch (error) {
    if (!(error instanceof CodecellError) || error.code !== "too_large") throw error;
    const hint = "request a part of it, such as x[:1000], or a summary; preview() returns the beginning";
    throw new CodecellError("too_large", error.message, { hint, cause: error });
  }
}

/** User code can replace what makes the JSON. */
export function decodeJson(data: Buffer): unknown {
  try {
    return JSON.parse(data.toString());
  } catch (error) {
    const message = "the cell's answer is not JSON";
    throw new CodecellError("variable_unserializable", message, { cause: error });
  }
}

/** A circle or a big integer makes `JSON.stringify` throw, and a function makes it answer nothing. */
function jsonOf(name: string, value: unknown): string {
  let cause: unknown;
  try {
    const json = JSON.stringify(value) as string | undefined;
    if (json !== undefined) return json;
  } catch (error) {
    cause = error;
  }
  const hint =
    "pass a string, bytes or a JSON value: numbers, strings, booleans, null, arrays and objects without cycles";
  throw new CodecellError("variable_unserializable", `the value for ${name} cannot be converted to JSON`, {
    hint,
    cause,
  });
}
