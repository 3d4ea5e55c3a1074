import { CodecellError } from "../lib/errors.ts";
import { nearest } from "../policy/file/suggest.ts";

/** Callers in JavaScript have no compiler. Without a check, a wrong type would reach the cell, which does not answer to it. */
export function checkText(value: unknown, what: string): asserts value is string {
  if (typeof value === "string") return;
  throw new CodecellError("usage", `${what} must be a string, not ${kindOf(value)}`, {
    hint: `pass ${what} as a string`,
  });
}

/**
 * Refuses options that nobody reads: who misspells `timeout` believes that it applies. `hintFor` says where a name belongs
 * instead.
 */
export function checkOptions(
  options: unknown,
  call: string,
  known: Readonly<Record<string, true>>,
  hintFor: (name: string) => string | undefined = () => undefined,
): void {
  if (typeof options !== "object" || options === null) {
    throw new CodecellError("usage", `the options of ${call} must be an object, not ${kindOf(options)}`, {
      hint: "leave them out for the defaults",
    });
  }
  for (const name of Object.keys(options)) {
    if (Object.hasOwn(known, name)) continue;
    const meant = nearest(name, Object.keys(known));
    throw new CodecellError("usage", `${call} has no option ${JSON.stringify(name.slice(0, 80))}`, {
      hint: hintFor(name) ?? (meant ? `did you mean ${meant}?` : "docs/library.md has every option"),
    });
  }
}

/** Throws unless it is bytes, or pieces of them. */
export function checkFileSource(source: unknown): void {
  const isStream = typeof source === "object" && source !== null && Symbol.asyncIterator in source;
  if (source instanceof Uint8Array || isStream) return;
  throw new CodecellError("usage", `the content of a file must be bytes, not ${kindOf(source)}`, {
    hint: "pass a Uint8Array, such as Buffer.from(text), or an async iterable of them",
  });
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  return value === undefined ? "undefined" : `${/^[aeiou]/.test(typeof value) ? "an" : "a"} ${typeof value}`;
}
