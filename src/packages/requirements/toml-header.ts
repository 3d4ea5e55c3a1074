/** A value of the few forms that matter here; anything else is `other`. */
export type TomlValue =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "list"; readonly items: readonly TomlValue[] }
  | { readonly kind: "other" };

/** TOML that cannot be read; the message says where. */
export class TomlError extends Error {
  override readonly name = "TomlError";
}

const deepest = 32;
const escapes: Readonly<Record<string, string>> = { b: "\b", t: "\t", n: "\n", f: "\f", r: "\r", '"': '"', "\\": "\\" };

/** The keys before the first table. What follows, such as `[tool.…]`, belongs to other programs and is not looked at. */
export function topLevelKeys(text: string): Map<string, TomlValue> {
  const reader = new TomlReader(text);
  const keys = new Map<string, TomlValue>();
  for (let key = reader.key(); key !== undefined; key = reader.key()) {
    if (keys.has(key)) throw new TomlError(`${JSON.stringify(key)} is there twice`);
    keys.set(key, reader.value(0));
    reader.endOfLine();
  }
  return keys;
}

/**
 * The keys of one table, which may be anywhere in the file. Undefined: there is no such table. A file that needs more of TOML
 * than this reads, such as a table in one line, is an error and never a guess.
 */
export function tableKeys(text: string, table: string): Map<string, TomlValue> | undefined {
  const reader = new TomlReader(text);
  let keys: Map<string, TomlValue> | undefined;
  for (let header: string | undefined = ""; header !== undefined; header = reader.header()) {
    if (header === table) {
      if (keys) throw new TomlError(`[${table}] is there twice`);
      keys = new Map();
    }
    for (let key = reader.key(); key !== undefined; key = reader.key()) {
      const path = header === "" ? key : `${header}.${key}`;
      if (path === table) throw new TomlError(`${table} is not written as [${table}]`);
      const value = reader.value(0);
      reader.endOfLine();
      if (!path.startsWith(`${table}.`)) continue;
      keys ??= new Map();
      const name = path.slice(table.length + 1);
      if (keys.has(name)) throw new TomlError(`${JSON.stringify(name)} is there twice`);
      keys.set(name, value);
    }
  }
  return keys;
}

class TomlReader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** The next key, or undefined at the end or at a table. */
  key(): string | undefined {
    this.#skip(true);
    if (this.#at >= this.#text.length || this.#text[this.#at] === "[") return undefined;
    const name = this.#name();
    this.#match(/=/y, "=");
    this.#skip(false);
    return name;
  }

  /** The next table's name, or undefined at the end. One of an array of tables is in brackets. */
  header(): string | undefined {
    this.#skip(true);
    if (this.#at >= this.#text.length) return undefined;
    const isArray = this.#match(/\[\[?/y, "[") === "[[";
    const name = this.#name();
    this.#match(isArray ? /\]\]/y : /\]/y, "]");
    this.endOfLine();
    return isArray ? `[${name}]` : name;
  }

  /** A key, with its parts joined. */
  #name(): string {
    const parts: string[] = [];
    for (;;) {
      this.#skip(false);
      const quote = this.#text[this.#at];
      parts.push(quote === '"' || quote === "'" ? this.#string(quote) : this.#match(/[A-Za-z0-9_-]+/y, "a key"));
      this.#skip(false);
      if (this.#text[this.#at] !== ".") break;
      this.#at++;
    }
    return parts.join(".");
  }

  value(depth: number): TomlValue {
    if (depth > deepest) throw new TomlError("it is nested too deeply");
    const first = this.#text[this.#at];
    if (first === '"' || first === "'") return { kind: "text", text: this.#string(first) };
    if (first === "[") return this.#list(depth);
    if (first === "{") return this.#table(depth);
    this.#match(/[A-Za-z0-9_+.:-]+(?: [0-9][0-9:.+-]*)?/y, "a value"); // numbers, dates and booleans
    return { kind: "other" };
  }

  endOfLine(): void {
    this.#skip(false);
    if (this.#at < this.#text.length) this.#match(/\r?\n/y, "the end of the line");
  }

  #list(depth: number): TomlValue {
    const items: TomlValue[] = [];
    this.#at++;
    for (;;) {
      this.#skip(true);
      if (this.#text[this.#at] === "]") break;
      items.push(this.value(depth + 1));
      this.#skip(true);
      if (this.#text[this.#at] !== ",") break;
      this.#at++;
    }
    this.#match(/\]/y, "]");
    return { kind: "list", items };
  }

  #table(depth: number): TomlValue {
    this.#at++;
    this.#skip(true);
    while (this.#at < this.#text.length && this.#text[this.#at] !== "}") {
      if (this.key() === undefined) break;
      this.value(depth + 1);
      this.#skip(true);
      if (this.#text[this.#at] === ",") this.#at++;
      this.#skip(true);
    }
    this.#match(/\}/y, "}");
    return { kind: "other" };
  }

  #string(quote: string): string {
    const isLong = this.#text.startsWith(quote.repeat(3), this.#at);
    const end = quote.repeat(isLong ? 3 : 1);
    this.#at += end.length;
    if (isLong) this.#at += /^\r?\n/.exec(this.#text.slice(this.#at, this.#at + 2))?.[0].length ?? 0;
    const pieces: string[] = [];
    while (!this.#text.startsWith(end, this.#at)) {
      const character = this.#text[this.#at];
      if (character === undefined || (!isLong && (character === "\n" || character === "\r")))
        throw new TomlError("a string does not end");
      this.#at++;
      pieces.push(character === "\\" && quote === '"' ? this.#escape(isLong) : character);
    }
    this.#at += end.length;
    return pieces.join("");
  }

  #escape(isLong: boolean): string {
    if (isLong && /[ \t\r\n]/.test(this.#text[this.#at] ?? "")) {
      this.#match(/[ \t\r\n]+/y, "a line");
      return "";
    }
    const kind = this.#text[this.#at++] ?? "";
    const plain = escapes[kind];
    if (plain !== undefined) return plain;
    if (kind !== "u" && kind !== "U") throw new TomlError("a string has an escape that does not exist");
    const point = Number.parseInt(this.#match(kind === "u" ? /[0-9a-fA-F]{4}/y : /[0-9a-fA-F]{8}/y, "hex digits"), 16);
    if (point > 0x10ffff) throw new TomlError("a string has an escape that does not exist");
    return String.fromCodePoint(point);
  }

  /** Spaces and comments; with `lines`, line ends too. */
  #skip(lines: boolean): void {
    const pattern = lines ? /(?:[ \t\r\n]|#[^\n]*)*/y : /[ \t]*(?:#[^\n]*)?/y;
    pattern.lastIndex = this.#at;
    this.#at += pattern.exec(this.#text)?.[0].length ?? 0;
  }

  #match(pattern: RegExp, expected: string): string {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0];
    if (found === undefined) {
      const line = this.#text.slice(0, this.#at).split("\n").length;
      throw new TomlError(`expected ${expected} in line ${line}`);
    }
    this.#at += found.length;
    return found;
  }
}
