/** One statement of a TOML text: the header of a table, or a key with its value. */
export interface TomlStatement {
  readonly kind: "table" | "tables" | "pair";
  /** full path: a key's with that of its table */
  readonly path: readonly string[];
  readonly start: number;
  /** behind its line break */
  readonly end: number;
  /** the value of a pair */
  readonly value?: { readonly start: number; readonly end: number };
}

/** A text that is not TOML, or not TOML as we read it; `line` counts from 1. */
export class TomlSyntaxError extends Error {
  readonly line: number;
  constructor(message: string, line: number) {
    super(message);
    this.line = line;
  }
}

const bareKey = /[A-Za-z0-9_-]+/y;
const basic =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: TOML forbids them in strings
  /"(?:[^"\\\u0000-\u0008\u000a-\u001f\u007f]|\\(?:[btnfre"\\]|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}))*"/y;
// biome-ignore lint/suspicious/noControlCharactersInRegex: as above
const literal = /'[^'\u0000-\u0008\u000a-\u001f\u007f]*'/y;
const longBasic = /"""(?:[^"\\]|\\[\s\S]|"{1,2}(?!"))*"{3,5}/y;
const longLiteral = /'''(?:[^']|'{1,2}(?!'))*'{3,5}/y;
/** booleans, numbers, dates */
const plain = /[A-Za-z0-9_+.:-]+(?: \d\d:\d\d:\d\d[0-9.:+Z-]*)?/y;
const maxDepth = 100;

/** Finds the statements of a TOML text, so that some can be changed and the rest stays byte for byte. */
export function tomlStatements(text: string): TomlStatement[] {
  return new Scanner(text).document();
}

class Scanner {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
    if (text.startsWith("\ufeff")) this.#at = 1;
  }

  document(): TomlStatement[] {
    const found: TomlStatement[] = [];
    let table: readonly string[] = [];
    for (;;) {
      this.#skip(true);
      if (this.#at >= this.#text.length) return found;
      const start = this.#at;
      if (this.#text[start] === "[") {
        const isMany = this.#text[start + 1] === "[";
        this.#at += isMany ? 2 : 1;
        table = this.#key();
        if (!this.#accept(isMany ? "]]" : "]")) throw this.#error("a table's name does not end");
        found.push({ kind: isMany ? "tables" : "table", path: table, start, end: this.#lineEnd() });
      } else {
        const path = [...table, ...this.#key()];
        if (!this.#accept("=")) throw this.#error("an equals sign is missing");
        this.#skip(false);
        const valueStart = this.#at;
        this.#value(0);
        const value = { start: valueStart, end: this.#at };
        found.push({ kind: "pair", path, start, end: this.#lineEnd(), value });
      }
    }
  }

  #key(): string[] {
    const path: string[] = [];
    do {
      this.#skip(false);
      const first = this.#text[this.#at];
      if (first === '"')
        path.push(JSON.parse(this.#take(basic, "a key is malformed").replaceAll("\t", "\\t")) as string);
      else if (first === "'") path.push(this.#take(literal, "a key is malformed").slice(1, -1));
      else path.push(this.#take(bareKey, "a key is missing"));
      this.#skip(false);
    } while (this.#accept("."));
    return path;
  }

  #value(depth: number): void {
    if (depth > maxDepth) throw this.#error("it is nested too deeply");
    const first = this.#text[this.#at];
    if (first === "[") this.#list(depth);
    else if (first === "{") this.#inlineTable(depth);
    else if (this.#text.startsWith('"""', this.#at)) this.#take(longBasic, "a string does not end");
    else if (this.#text.startsWith("'''", this.#at)) this.#take(longLiteral, "a string does not end");
    else if (first === '"') this.#take(basic, "a string is malformed");
    else if (first === "'") this.#take(literal, "a string is malformed");
    else this.#take(plain, "a value is missing");
  }

  #list(depth: number): void {
    this.#at++;
    for (let isNext = true; ; ) {
      this.#skip(true);
      if (this.#accept("]")) return;
      if (!isNext) throw this.#error("a comma is missing");
      this.#value(depth + 1);
      this.#skip(true);
      isNext = this.#accept(",");
    }
  }

  #inlineTable(depth: number): void {
    this.#at++;
    for (let isNext = true; ; ) {
      this.#skip(true); // line breaks are allowed since TOML 1.1
      if (this.#accept("}")) return;
      if (!isNext) throw this.#error("a comma is missing");
      this.#key();
      if (!this.#accept("=")) throw this.#error("an equals sign is missing");
      this.#skip(false);
      this.#value(depth + 1);
      this.#skip(true);
      isNext = this.#accept(",");
    }
  }

  #accept(expected: string): boolean {
    if (!this.#text.startsWith(expected, this.#at)) return false;
    this.#at += expected.length;
    return true;
  }

  #take(pattern: RegExp, problem: string): string {
    pattern.lastIndex = this.#at;
    const [found] = pattern.exec(this.#text) ?? [];
    if (found === undefined) throw this.#error(problem);
    this.#at += found.length;
    return found;
  }

  /** Skips white space and, if line breaks may follow, comments. */
  #skip(overLines: boolean): void {
    const space = overLines ? /(?:[ \t\r\n]|#[^\n]*)*/y : /[ \t]*/y;
    space.lastIndex = this.#at;
    this.#at += space.exec(this.#text)?.[0].length ?? 0;
  }

  /** Behind the line break of this statement; only a comment may come before it. */
  #lineEnd(): number {
    const rest = /[ \t]*(?:#[^\n]*)?(?:\r?\n|$)/y;
    this.#take(rest, "something follows a value or a table's name");
    return this.#at;
  }

  #error(message: string): TomlSyntaxError {
    return new TomlSyntaxError(message, this.#text.slice(0, this.#at).split("\n").length);
  }
}
