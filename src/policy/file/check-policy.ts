import type { z } from "zod";
import { homeDirectory, type PathContext } from "../paths/host-path.ts";
import { resolvePaths } from "../paths/resolve-paths.ts";
import { explainIssue } from "./explain-issue.ts";
import { copyPlain, type FoundProblem } from "./plain-copy.ts";
import type { PolicyPath } from "./problem.ts";

export type Checked<T> = { readonly value: T } | { readonly problems: readonly FoundProblem[] };

/** explaining an issue is slower than finding it, and nobody reads the thousandth */
const maxExplained = 40;
/** `fs:` with nothing below it means the same as no `fs` at all. */
const sectionNames = "isolation fs net proc env session kernel llm tools audit overrides".split(" ");

/** Checks data against a schema of this folder: a policy, or the part of one at the path `at`. Never throws. */
export function checkPolicy<Schema extends z.ZodType>(
  schema: Schema,
  input: unknown,
  at: PolicyPath,
  context: PathContext,
): Checked<z.output<Schema>> {
  const { value, problems } = copyPlain(input);
  const policy = withoutEmptySections(value ?? {});
  const paths = { ...context, homeDir: homeDirectory(context.homeDir) };
  problems.push(...resolvePaths(policy, at, paths));
  if (at.length === 0) problems.push(...resolvePaths(ceilingOf(policy), ["overrides", "ceiling"], paths));
  const parsed = schema.safeParse(policy);
  if (!parsed.success) {
    const issues = parsed.error.issues.slice(0, maxExplained);
    problems.push(...issues.flatMap((issue) => explainIssue(issue, policy, at)));
  }
  return parsed.success && problems.length === 0 ? { value: parsed.data } : { problems };
}

function withoutEmptySections(policy: unknown): unknown {
  if (typeof policy !== "object" || policy === null || Array.isArray(policy)) return policy;
  return Object.fromEntries(
    Object.entries(policy).filter(([key, value]) => value !== null || !sectionNames.includes(key)),
  );
}

function ceilingOf(policy: unknown): unknown {
  return (policy as { overrides?: { ceiling?: unknown } } | null)?.overrides?.ceiling;
}
