import fc, { type Arbitrary } from "fast-check";

const ms = { timeoutMs: 1000 };
/** One honest header of each message that a host sends after the start, with every field that its kind needs. */
const hostHeaders: readonly Record<string, unknown>[] = [
  { t: "start", env: {}, path: [], preload: [], background: false, recovery: true },
  { t: "run", id: 7, language: "python", ...ms, outputBytes: 100 },
  { t: "in", id: 7 },
  { t: "interrupt", id: 7 },
  { t: "vars", id: 7, ...ms },
  { t: "get", id: 7, expression: "1", format: "json", maxBytes: 100, ...ms },
  { t: "complete", id: 7, kind: "names", path: ["a"], prefix: "p", ...ms },
  { t: "inspect", id: 7, path: ["a"], source: false, ...ms },
  { t: "set", id: 7, name: "x", format: "json", size: 2, ...ms },
  { t: "data", id: 7 },
  { t: "reset", id: 7 },
  { t: "checkpoint", id: 7, name: "c" },
  { t: "rollback", id: 7, name: "c" },
  { t: "forget", id: 7, name: "c" },
  { t: "fork", id: 7, into: 3 },
  { t: "expose", id: 7 },
  { t: "answer", id: 7, call: 1 },
  { t: "leave", id: 7 },
  { t: "snapshot", id: 7, maxBytes: 100, ...ms },
  { t: "restore", id: 7, size: 2, ...ms },
  { t: "net.data", id: 7 },
  { t: "net.credit", id: 7, bytes: 10 },
];

/** A message that lacks a field, or has one of another type: no host sends it, unless it has a bug. */
export function brokenHostHeader(): Arbitrary<Record<string, unknown>> {
  return fc
    .tuple(
      fc.constantFrom(...hostHeaders.map((header) => ({ branch: 0, ...header }))),
      fc.nat(),
      fc.constantFrom(undefined, null, -1, 0.5, 2 ** 53, [1], { a: 1 }, [[]]),
      fc.boolean(),
    )
    .map(([header, chosen, value, isFirst]) => {
      const names = Object.keys(header).filter((name) => name !== "branch" || value !== undefined);
      const name = names[chosen % names.length] as string;
      const { [name]: removed, ...rest } = header as Record<string, unknown>;
      // half a millisecond is a valid time
      const wrong = value === 0.5 && name === "timeoutMs" ? "soon" : value;
      if (wrong === undefined) return rest;
      return isFirst ? { [name]: wrong, ...rest } : { ...rest, [name]: wrong };
    });
}
