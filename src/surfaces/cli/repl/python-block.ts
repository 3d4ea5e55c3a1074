/**
 * Whether the code needs more lines before it can run; a heuristic, not a parser. If it was pasted, an empty line does not end a
 * block, and only a header without a body needs more.
 */
export function needsMoreLines(lines: readonly string[], isPasted = false): boolean {
  const { statements, openBrackets, openString, isContinued } = scan(lines.join("\n"));
  if (openString || openBrackets > 0 || isContinued) return true;
  if (isPasted) return lines.at(-1)?.trim() !== "" && /(?:^|\n)(?:[^\n]*:[ \t]*|\s*@[^\n]*)\s*$/.test(statements);
  const opensBlock = /:[ \t]*$/m.test(statements) || /^\s*@/.test(statements);
  // an empty line closes a block, as in Python's own prompt
  return opensBlock && lines.at(-1)?.trim() !== "";
}

interface Scan {
  /** the code without strings, comments and the content of brackets */
  readonly statements: string;
  readonly openBrackets: number;
  /** inside a triple-quoted string */
  readonly openString: boolean;
  /** the last line ends with a backslash */
  readonly isContinued: boolean;
}

function scan(code: string): Scan {
  let statements = "";
  let openBrackets = 0;
  let quote = "";
  for (let at = 0; at < code.length; at++) {
    const character = code.charAt(at);
    if (quote !== "") {
      if (character === "\\") at++;
      else if (code.startsWith(quote, at)) {
        at += quote.length - 1;
        quote = "";
      } else if (character === "\n" && quote.length === 1) quote = "";
    } else if (character === "#") {
      const end = code.indexOf("\n", at);
      at = end === -1 ? code.length : end - 1;
    } else if (character === '"' || character === "'") {
      quote = code.startsWith(character.repeat(3), at) ? character.repeat(3) : character;
      at += quote.length - 1;
      statements += "_";
    } else if ("([{".includes(character)) openBrackets++;
    else if (")]}".includes(character)) {
      openBrackets = Math.max(0, openBrackets - 1);
      statements += "_";
    } else if (openBrackets === 0) statements += character;
  }
  const isContinued = /(?:^|[^\\])(?:\\\\)*\\$/.test(statements);
  return { statements, openBrackets, openString: quote.length === 3, isContinued };
}
