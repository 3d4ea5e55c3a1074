/** What a piece of code is; the class of its colour. */
export type TokenKind = "keyword" | "atom" | "string" | "number" | "comment" | "definition" | "decorator" | "variable";

export interface Token {
  readonly from: number;
  readonly to: number;
  readonly kind: TokenKind;
}

/** Longer code is shown without colours. */
const maxCharacters = 100_000;

/**
 * Pure: the parts of code that have a colour, in order. It does not parse: a few regular expressions, each of which looks at a
 * character once, are a fiftieth of the size of a parser, and the page has to stay small.
 */
export function highlight(code: string, language: string): readonly Token[] {
  const rules = language === "python" ? python : language === "bash" ? bash : undefined;
  if (!rules || code.length > maxCharacters) return [];
  const tokens: Token[] = [];
  let at = 0;
  let before = ""; // the last word, to find what `def` and `class` define
  while (at < code.length) {
    rules.token.lastIndex = at;
    const found = rules.token.exec(code);
    if (!found) break;
    const [text] = found;
    const from = found.index;
    at = from + text.length;
    const kind = kindOf(found.groups ?? {}, before, rules);
    before = found.groups?.word ?? "";
    if (kind) tokens.push({ from, to: at, kind });
  }
  return tokens;
}

interface Rules {
  readonly token: RegExp;
  readonly keywords: ReadonlySet<string>;
  readonly atoms: ReadonlySet<string>;
  readonly defining: ReadonlySet<string>;
}

function kindOf(groups: Record<string, string | undefined>, before: string, rules: Rules): TokenKind | undefined {
  const { word } = groups;
  if (word !== undefined) {
    if (rules.defining.has(before)) return "definition";
    if (rules.keywords.has(word)) return "keyword";
    return rules.atoms.has(word) ? "atom" : undefined;
  }
  for (const kind of ["comment", "string", "number", "decorator", "variable"] as const) {
    if (groups[kind] !== undefined) return kind;
  }
  return undefined;
}

const words = (text: string) => new Set(text.split(" "));

/** A string without an end goes to the end of its line, or with three quotes to the end of the code. */
const pythonString = [
  '"""(?:[^"\\\\]|\\\\[^]|"(?!""))*(?:"""|$(?![^]))',
  "'''(?:[^'\\\\]|\\\\[^]|'(?!''))*(?:'''|$(?![^]))",
  '"(?:[^"\\\\\\n]|\\\\[^])*"?',
  "'(?:[^'\\\\\\n]|\\\\[^])*'?",
].join("|");

const python: Rules = {
  token: new RegExp(
    [
      "(?<comment>#[^\\n]*)",
      `(?<string>(?:\\b[rRbBuUfFtT]{1,2})?(?:${pythonString}))`,
      "(?<number>(?<![\\p{ID_Continue}])(?:0[xXoObB][\\da-fA-F_]+|(?:\\d[\\d_]*\\.?[\\d_]*|\\.\\d[\\d_]*)(?:[eE][+-]?\\d[\\d_]*)?[jJ]?))",
      "(?<decorator>(?<=^[ \\t]{0,40})@[\\p{ID_Continue}.]+)",
      "(?<word>[\\p{ID_Start}_][\\p{ID_Continue}]*)",
    ].join("|"),
    "gmu",
  ),
  keywords: words(
    "and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield",
  ),
  atoms: words("True False None self cls"),
  defining: words("def class"),
};

const bash: Rules = {
  token: new RegExp(
    [
      "(?<comment>(?<=^|[\\s;|&(])#[^\\n]*)",
      "(?<string>'[^']*'?|\"(?:[^\"\\\\]|\\\\[^])*\"?)",
      "(?<variable>\\$(?:\\{[^}\\n]*\\}?|[\\w@*#?$!-]+))",
      "(?<number>(?<![\\w.-])\\d+(?![\\w.-]))",
      "(?<word>[\\w.\\/-]+)",
    ].join("|"),
    "gmu",
  ),
  keywords: words("if then elif else fi for in do done while until case esac function return exit export local set"),
  atoms: words("true false echo cd"),
  defining: words("function"),
};
