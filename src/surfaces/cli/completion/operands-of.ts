/** What an operand of a command names. */
export type OperandKind = "file" | "session" | "artifact" | "other" | readonly string[];

export interface Operands {
  readonly kinds: readonly OperandKind[];
  /** whether the last one may come again */
  readonly repeats: boolean;
}

const alternatives = /^[a-z][a-z0-9-]*(?:\|[a-z][a-z0-9-]*)+$/;

/** Pure: the operands of a command, read from its usage line, which the help shows too. */
export function operandsOf({ name, usage }: { readonly name: string; readonly usage: string }): Operands {
  const words = usage
    .replace(`codecell ${name}`, "")
    .replace(/\[[^\][]*\[[^\]]*\][^\]]*\](\.\.\.)?/g, " ") // options that are only valid after another option
    .replace(/\[-[^\]]*\]/g, " ")
    .replace(/--?[\w-]+ [^\s[]+/g, " ") // an option that is needed, with its value
    .replace(/\[options\]|\| -c CODE|\| -/g, " ")
    .split(/[\s[\]]+/)
    .filter((word) => word !== "" && word !== "options");
  const kinds = words.map((word, index) => kindOf(word.replace(/…$/, ""), words[index - 1]));
  return { kinds, repeats: words.at(-1)?.endsWith("…") === true };
}

function kindOf(word: string, before: string | undefined): OperandKind {
  if (alternatives.test(word)) return word.split("|");
  if (word === "FILE") return "file";
  if (word === "SESSION" || word === "ID") return "session";
  return word === "NAME" && before === "SESSION" ? "artifact" : "other";
}
