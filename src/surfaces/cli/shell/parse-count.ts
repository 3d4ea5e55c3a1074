import { CodecellError } from "../../../lib/errors.ts";

/** Parses the value of a flag as a whole number from `min` to `max`. */
export function parseCount(
  flag: string,
  text: string,
  { min = 0, max = Number.MAX_SAFE_INTEGER }: { min?: number; max?: number } = {},
): number {
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  const range = max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`;
  throw new CodecellError("usage", `${flag} ${JSON.stringify(text)} is not a whole number ${range}`);
}
