import { CodecellError } from "../../lib/errors.ts";

/** One problem in a policy. */
export interface PolicyProblem {
  /** path of the rule, such as `proc.memory` or `fs.mounts[0].target`; empty: the whole file */
  readonly rule: string;
  readonly message: string;
  /** what was probably meant */
  readonly suggestion?: string | undefined;
  /** from 1; absent when the policy is not a file */
  readonly line?: number | undefined;
  readonly column?: number | undefined;
}

export type PolicyPath = readonly (string | number)[];

/** Policies are small: a larger file is a mistake or an attack on the parser. */
export const maxPolicyBytes = 256 * 1024;
const maxShown = 20;

/** One error for all problems, a line per problem. */
export function policyInvalid(problems: readonly PolicyProblem[], file?: string): CodecellError {
  const ordered = [...problems].sort((a, b) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0));
  const shown = ordered.slice(0, maxShown);
  const lines = shown.map((problem) => problemLine(problem, file));
  if (problems.length > maxShown) lines.push("… and more");
  return new CodecellError("policy_invalid", lines.join("\n"), {
    hint: "`codecell policy schema` prints every rule; docs/policy.md explains them",
    details: { ...(file === undefined ? {} : { file }), problems: shown },
  });
}

function problemLine(problem: PolicyProblem, file: string | undefined): string {
  const { rule, message, suggestion, line, column } = problem;
  const place = file === undefined ? "" : `${printable(file, 400)}:${line ?? 1}:${column ?? 1}  `;
  const suffix = suggestion === undefined ? "" : ` (did you mean ${suggestion}?)`;
  return `${place}${rule === "" ? "" : `${rule}: `}${message}${suffix}`;
}

/** A path as text: `fs.mounts[0].target`. */
export function rulePath(path: PolicyPath): string {
  let text = "";
  for (const part of path) {
    if (typeof part === "number") text += `[${part}]`;
    else text += `${text === "" ? "" : "."}${printable(part)}`;
  }
  return text;
}

/** Untrusted text, safe for one line of a terminal. The attack: escape sequences and line breaks that forge output. */
export function printable(text: string, maxLength = 60): string {
  const cut = text.length > maxLength ? `${text.slice(0, maxLength)}…` : text;
  return cut.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, "\ufffd");
}

/** A value in a message, quoted when it is text. */
export function printableValue(value: unknown): string {
  if (typeof value === "string") return `"${printable(value)}"`;
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object" && value !== null) return "a section";
  return printable(String(value));
}
