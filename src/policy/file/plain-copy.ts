import type { PolicyPath } from "./problem.ts";

/** A problem whose position is a path, not yet a line and column. */
export interface FoundProblem {
  readonly path: PolicyPath;
  readonly message: string;
  readonly suggestion?: string | undefined;
  /** whether the key or the value is wrong; default: the value */
  readonly at?: "key" | "value";
}

const maxDepth = 16;
const maxValues = 20_000;
/** The attack: prototype pollution in code that copies these keys. */
const forbiddenKeys = new Set(["__proto__", "constructor", "prototype"]);

/**
 * Copies lists, plain objects and simple values. Anything else that a caller or a model passes (getters, proxies, cycles,
 * class instances, prototypes) is reported and left out, so that later code handles plain data only.
 */
export function copyPlain(input: unknown): { value: unknown; problems: FoundProblem[] } {
  const problems: FoundProblem[] = [];
  let values = 0;

  const copy = (value: unknown, path: PolicyPath): unknown => {
    if (++values === maxValues) problems.push({ path: [], message: `a policy can have at most ${maxValues} values` });
    if (values >= maxValues) return undefined;
    if (value === null || ["string", "number", "boolean", "undefined"].includes(typeof value)) return value;
    if (path.length > maxDepth) return report(path.slice(0, 4), "nested too deeply");
    if (Array.isArray(value)) return Array.from(value, (item, index) => copy(item, [...path, index]));
    if (typeof value !== "object" || !isPlain(value)) return report(path, "expected plain data");
    const entries: [string, unknown][] = [];
    for (const key of Object.keys(value)) {
      const below = [...path, key];
      if (forbiddenKeys.has(key)) problems.push({ path: below, message: "this key is never allowed", at: "key" });
      else entries.push([key, copy((value as Record<string, unknown>)[key], below)]);
    }
    return Object.fromEntries(entries.filter(([, item]) => item !== undefined));
  };
  const report = (path: PolicyPath, message: string): undefined => {
    problems.push({ path, message });
  };

  try {
    return { value: copy(input, []), problems };
  } catch {
    // A getter or a proxy threw. Its error is not about a rule.
    return { value: undefined, problems: [{ path: [], message: "the policy cannot be read" }] };
  }
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype || Object.getPrototypeOf(prototype) === null;
}
