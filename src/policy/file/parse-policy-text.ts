import type { PathContext } from "../paths/host-path.ts";
import type { Policy } from "../schema.ts";
import { findProblems } from "./parse-policy.ts";
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
  const found =
    source.value === undefined && source.problems.length > 0 ? [] : findProblems(source.value ?? {}, options);
  if (!Array.isArray(found) && source.problems.length === 0) return found;
  const located = (Array.isArray(found) ? found : []).map((problem) => {
    const { path, at, ...rest } = problem;
    return { rule: rulePath(path), ...rest, ...source.locate(path, at) };
  });
  throw policyInvalid([...source.problems, ...located], options.file);
}
