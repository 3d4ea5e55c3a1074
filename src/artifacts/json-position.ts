type Expected = "value" | "first value" | "key" | "first key" | "colon" | "end";

const space = /[ \t\r\n]*/y;
const plainScalar = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;
const escaped = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;

/** The offset where a text stops being JSON. The engine's own error often has no position. */
export function jsonErrorOffset(text: string): number {
  const open: ("{" | "[")[] = [];
  let expected: Expected = "value";
  for (let at = 0; ; ) {
    at += matched(space, text, at);
    const next = text[at];
    if (next === undefined) return text.length;
    const isKey: boolean = expected === "key" || expected === "first key";
    const inside: "{" | "[" | undefined = open.at(-1);
    if (expected === "colon") {
      if (next !== ":") return at;
      at++;
      expected = "value";
    } else if (expected === "end" && next === "," && inside !== undefined) {
      at++;
      expected = inside === "{" ? "key" : "value";
    } else if (closes(next, inside, expected)) {
      open.pop();
      at++;
      expected = "end";
    } else if (expected === "end") {
      return at;
    } else if (!isKey && (next === "{" || next === "[")) {
      open.push(next);
      at++;
      expected = next === "{" ? "first key" : "first value";
    } else {
      const { end, isWhole } = next === '"' ? stringEnd(text, at) : scalarEnd(text, at, isKey);
      if (!isWhole) return end;
      at = end;
      expected = isKey ? "colon" : "end";
    }
  }
}

/** An offset as line and column, from 1. */
export function lineAndColumn(text: string, offset: number): { line: number; column: number } {
  let line = 1;
  let start = 0;
  for (let end = text.indexOf("\n"); end >= 0 && end < offset; end = text.indexOf("\n", start)) {
    line++;
    start = end + 1;
  }
  return { line, column: offset - start + 1 };
}

function closes(next: string, inside: "{" | "[" | undefined, expected: Expected): boolean {
  if (inside === "{") return next === "}" && (expected === "end" || expected === "first key");
  return inside === "[" && next === "]" && (expected === "end" || expected === "first value");
}

function scalarEnd(text: string, start: number, isKey: boolean): { end: number; isWhole: boolean } {
  const length = isKey ? 0 : matched(plainScalar, text, start);
  return { end: start + length, isWhole: length > 0 };
}

/** The end of a string, or the offset of what is invalid in it. */
function stringEnd(text: string, start: number): { end: number; isWhole: boolean } {
  for (let at = start + 1; at < text.length; ) {
    const code = text.charCodeAt(at);
    if (code === 0x22) return { end: at + 1, isWhole: true };
    if (code < 0x20) return { end: at, isWhole: false };
    const length = code === 0x5c ? matched(escaped, text, at) : 1;
    if (length === 0) return { end: at, isWhole: false };
    at += length;
  }
  return { end: text.length, isWhole: false };
}

function matched(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0].length ?? 0;
}
