import { inconsistencies } from "../consistency.ts";
import { defaultPolicy } from "../default-policy.ts";
import type { PathContext } from "../paths/host-path.ts";
import { type Policy, policySchema } from "../schema.ts";
import { checkPolicy } from "./check-policy.ts";
import { copyPlain, type FoundProblem } from "./plain-copy.ts";
import { policyInvalid, rulePath } from "./problem.ts";

/** Parses a policy given as an object. Its paths must be absolute unless `baseDir` is given. */
export function parsePolicy(input: unknown, options: PathContext = {}): Policy {
  if (isEmpty(input)) return defaultPolicy();
  const found = findProblems(input, options);
  if (!Array.isArray(found)) return found;
  throw policyInvalid(found.map(({ path, message, suggestion }) => ({ rule: rulePath(path), message, suggestion })));
}

/** Looks at a copy, because an object of the caller can run code when it is read. */
function isEmpty(input: unknown): boolean {
  const { value, problems } = copyPlain(input);
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  return isObject && problems.length === 0 && Object.keys(value).length === 0;
}

/** The policy, or every problem in the object. */
export function findProblems(input: unknown, context: PathContext): Policy | FoundProblem[] {
  const checked = checkPolicy(policySchema(), input, [], context);
  if ("problems" in checked) return [...checked.problems];
  const problems = inconsistencies(checked.value);
  return problems.length === 0 ? checked.value : problems;
}
