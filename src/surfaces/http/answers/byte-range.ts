/** The part of a file that a Range header requests; `end` is exclusive. */
export type RangeChoice =
  | { readonly kind: "whole" }
  | { readonly kind: "part"; readonly start: number; readonly end: number }
  | { readonly kind: "unsatisfiable" };

/** Pure. Supports one range. Ignores several ranges, other units and invalid headers, as the standard allows. */
export function chooseRange(header: string | undefined, size: number): RangeChoice {
  const match = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header?.trim() ?? "");
  const [, first = "", last = ""] = match ?? [];
  if (!match || (first === "" && last === "")) return { kind: "whole" };
  if (first === "") {
    const length = Math.min(Number(last), size);
    return length === 0 ? { kind: "unsatisfiable" } : { kind: "part", start: size - length, end: size };
  }
  const start = Number(first);
  if (last !== "" && Number(last) < start) return { kind: "whole" };
  if (start >= size) return { kind: "unsatisfiable" };
  return { kind: "part", start, end: last === "" ? size : Math.min(Number(last) + 1, size) };
}
