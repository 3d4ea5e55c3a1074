/** A value in a JSON text, with its place. */
export type JsonSpan = { readonly start: number; readonly end: number } & (
  | { readonly kind: "object"; readonly members: readonly JsonMember[] }
  | { readonly kind: "other" }
);

export interface JsonMember {
  readonly key: string;
  readonly keyStart: number;
  readonly value: JsonSpan;
  /** offset of the comma behind it */
  readonly comma: number | undefined;
}

/** A text that is not JSON; `line` counts from 1. */
export class JsonSyntaxError extends Error {
  readonly line: number;
  constructor(message: string, line: number) {
    super(message);
    this.line = line;
  }
}

const scalar = /(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![\w.+-])/y;
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON forbids them in strings
const quoted = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const maxDepth = 200;

/**
 * Finds the places of all members, so that a text can be changed without writing the rest of it anew. Comments and commas
 * before a closing bracket are accepted, as editors do.
 */
export function jsonSpans(text: string): JsonSpan {
  const scanner = new Scanner(text);
  return scanner.document();
}

class Scanner {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
    if (text.startsWith("\ufeff")) this.#at = 1;
  }

  document(): JsonSpan {
    const value = this.#value(0);
    this.#skip();
    if (this.#at < this.#text.length) throw this.#error("there is more after the end");
    return value;
  }

  #value(depth: number): JsonSpan {
    this.#skip();
    const start = this.#at;
    const first = this.#text[start];
    if (depth > maxDepth) throw this.#error("it is nested too deeply");
    if (first === "{") return this.#object(start, depth);
    if (first === "[") this.#array(depth);
    else this.#take(first === '"' ? quoted : scalar, "a value is missing or malformed");
    return { kind: "other", start, end: this.#at };
  }

  #object(start: number, depth: number): JsonSpan {
    const members: JsonMember[] = [];
    this.#at++;
    for (;;) {
      this.#skip();
      if (this.#accept("}")) return { kind: "object", start, end: this.#at, members };
      if (members.length > 0 && members.at(-1)?.comma === undefined) throw this.#error("a comma is missing");
      const keyStart = this.#at;
      const key = JSON.parse(this.#take(quoted, "a name in double quotes is expected")) as string;
      this.#skip();
      if (!this.#accept(":")) throw this.#error("a colon is missing");
      const value = this.#value(depth + 1);
      this.#skip();
      const comma = this.#accept(",") ? this.#at - 1 : undefined;
      members.push({ key, keyStart, value, comma });
    }
  }

  #array(depth: number): void {
    this.#at++;
    for (let isNext = true; ; ) {
      this.#skip();
      if (this.#accept("]")) return;
      if (!isNext) throw this.#error("a comma is missing");
      this.#value(depth + 1);
      this.#skip();
      isNext = this.#accept(",");
    }
  }

  #accept(character: string): boolean {
    if (this.#text[this.#at] !== character) return false;
    this.#at++;
    return true;
  }

  #take(pattern: RegExp, problem: string): string {
    pattern.lastIndex = this.#at;
    const [found] = pattern.exec(this.#text) ?? [];
    if (found === undefined) throw this.#error(problem);
    this.#at += found.length;
    return found;
  }

  /** Skips white space and comments. */
  #skip(): void {
    for (;;) {
      while (/[ \t\r\n]/.test(this.#text[this.#at] ?? "")) this.#at++;
      if (this.#text.startsWith("//", this.#at)) this.#at = indexOr(this.#text, "\n", this.#at, this.#text.length);
      else if (this.#text.startsWith("/*", this.#at)) {
        const end = this.#text.indexOf("*/", this.#at + 2);
        if (end < 0) throw this.#error("a comment does not end");
        this.#at = end + 2;
      } else return;
    }
  }

  #error(message: string): JsonSyntaxError {
    return new JsonSyntaxError(message, this.#text.slice(0, this.#at).split("\n").length);
  }
}

function indexOr(text: string, wanted: string, from: number, otherwise: number): number {
  const at = text.indexOf(wanted, from);
  return at < 0 ? otherwise : at;
}
