import { CodecellError } from "../../lib/errors.ts";
import { printable } from "../../policy/file/problem.ts";
import { checkText } from "../caller-arguments.ts";

const keywords = new Set(
  [
    "False None True and as assert async await break class continue def del elif else except finally for from global",
    "if import in is lambda nonlocal not or pass raise return try while with yield",
  ]
    .join(" ")
    .split(" "),
);

/** Whether an expression is the name of a variable and nothing else. */
export function isVariableName(expression: string): boolean {
  return /^[\p{XID_Start}_]\p{XID_Continue}*$/u.test(expression);
}

/** Why code could never use a variable of this name, or must not find it changed; undefined if it is fine. */
export function variableNameProblem(name: string): string | undefined {
  // Python compares names in this form: a keyword in other letters is the keyword.
  const plain = name.normalize("NFKC");
  if (keywords.has(plain)) return `${plain} is a keyword of Python`;
  // The attack: another `__builtins__` changes what all later code does.
  if (/^__.*__$/.test(plain)) return "names with two underscores at both ends belong to the interpreter";
  return undefined;
}

/** Throws `usage` for a name that cannot be a variable. */
export function checkVariableName(name: string): void {
  checkText(name, "the name of a variable");
  if (!isVariableName(name)) {
    throw new CodecellError("usage", `"${printable(name)}" is not the name of a Python variable`, {
      hint: "use letters, digits and underscores, not a digit first",
    });
  }
  const problem = variableNameProblem(name);
  if (problem !== undefined)
    throw new CodecellError("usage", problem, { hint: "choose another name for the variable" });
}
