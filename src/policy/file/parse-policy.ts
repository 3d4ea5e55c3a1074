import { inconsistencies } from "../consistency.ts";
import type { PathContext } from "../paths/host-path.ts";
import { type Policy, policySchema } from "../schema.ts";
import { checkPolicy } from "./check-policy.ts";
import type { FoundProblem } from "./plain-copy.ts";
import { readPolicyText } from "./policy-text.ts";
import { policyInvalid, rulePath } from "./problem.ts";

export interface PolicyTextOptions extends PathContext {
  /** name of the file in messages */
  readonly file: string;
  /** directory that relative paths start from */
  readonly baseDir: string;
}

/** Parses the text of a policy file, or throws `policy_invalid` with all its problems. */
export function parsePolicyText(text: Uint8Array | string, options: PolicyTextOptions): Policy {
  const source = readPolicyText(text);
  const found = source.value === undefined && source.problems.length > 0 ? [] : check(source.value ?? {}, options);
  if (!Array.isArray(found) && source.problems.length === 0) return found;
  const located = (Array.isArray(found) ? found : []).map((problem) => {
    const { path, at, ...rest } = problem;
    return { rule: rulePath(path), ...rest, ...source.locate(path, at) };
  });
  throw policyInvalid([...source.problems, ...located], options.file);
}

/** Parses a policy given as an object. Its paths must be absolute unless `baseDir` is given. */
export function parsePolicy(input: unknown, options: PathContext = {}): Policy {
  const found = check(input, options);
  if (!Array.isArray(found)) return found;
  throw policyInvalid(found.map(({ path, message, suggestion }) => ({ rule: rulePath(path), message, suggestion })));
}

function check(input: unknown, context: PathContext): Policy | FoundProblem[] {
  const checked = checkPolicy(policySchema, input, [], context);
  if ("problems" in checked) return [...checked.problems];
  const problems = inconsistencies(checked.value);
  return problems.length === 0 ? checked.value : problems;
}
