import { signatureError } from "./signature-error.ts";

/** One piece of a signature, and where it starts. */
export interface Token {
  readonly kind: "name" | "number" | "string" | "mark" | "end";
  /** as written */
  readonly text: string;
  /** the content of a string */
  readonly value: string;
  readonly at: number;
}

const space = /[ \t\r\n]*/y;
const patterns = [
  ["name", /[A-Za-z_][A-Za-z0-9_]*/y],
  ["number", /[+-]?\d+(?:\.\d+)?/y],
  ["mark", /->|[,:[\]|.]/y],
] as const;
const escapes: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r", "\\": "\\", "'": "'", '"': '"' };

/** Splits a signature. A string may be in single or double quotes, with Python's common escapes. */
export function tokenize(text: string): Token[] {
  const tokens: Token[] = [];
  let at = 0;
  for (;;) {
    space.lastIndex = at;
    space.test(text);
    at = space.lastIndex;
    if (at >= text.length) return [...tokens, { kind: "end", text: "", value: "", at }];
    const token = /["']/.test(text.charAt(at)) ? stringAt(text, at) : plainAt(text, at);
    tokens.push(token);
    at += token.text.length;
  }
}

function plainAt(text: string, at: number): Token {
  for (const [kind, pattern] of patterns) {
    pattern.lastIndex = at;
    const found = pattern.exec(text)?.[0];
    if (found !== undefined) return { kind, text: found, value: found, at };
  }
  const character = String.fromCodePoint(text.codePointAt(at) ?? 0);
  throw signatureError(
    text,
    at,
    `unexpected character ${JSON.stringify(character)}`,
    "names of fields have ASCII letters, digits and underscores; put any other text in quotes",
  );
}

function stringAt(text: string, start: number): Token {
  const quote = text.charAt(start);
  let value = "";
  for (let at = start + 1; at < text.length; at++) {
    const character = text.charAt(at);
    if (character === quote) return { kind: "string", text: text.slice(start, at + 1), value, at: start };
    if (character !== "\\") {
      value += character;
      continue;
    }
    const escaped = escapeAt(text, at);
    value += escaped.value;
    at += escaped.length - 1;
  }
  throw signatureError(text, start, "this quote is never closed", `close the text with ${quote}`);
}

/** An escape that is not listed stands for itself, as in Python. */
function escapeAt(text: string, at: number): { value: string; length: number } {
  const hex = /^\\u([0-9a-fA-F]{4})/.exec(text.slice(at, at + 6))?.[1];
  if (hex !== undefined) return { value: String.fromCharCode(Number.parseInt(hex, 16)), length: 6 };
  const next = text.charAt(at + 1);
  return { value: escapes[next] ?? `\\${next}`, length: 2 };
}
