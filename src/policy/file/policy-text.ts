import { Composer, type Document, isAlias, isMap, isScalar, isSeq, Lexer, LineCounter, type Node, Parser } from "yaml";
import { formatSize } from "../format-units.ts";
import { maxPolicyBytes, type PolicyPath, type PolicyProblem, printable, rulePath } from "./problem.ts";

const maxTokens = 60_000;
const maxDepth = 40;

/** A policy file as plain data, with the position of every key and value. */
export interface PolicyText {
  readonly value: unknown;
  readonly problems: readonly PolicyProblem[];
  /** the position of a rule's key or value; default: its value */
  locate(path: PolicyPath, at?: "key" | "value"): { line: number; column: number };
}

/** Reads YAML 1.2 without aliases, tags and directives. Never throws: errors are in `problems`. */
export function readPolicyText(source: Uint8Array | string): PolicyText {
  const size = typeof source === "string" ? Buffer.byteLength(source) : source.byteLength;
  if (size > maxPolicyBytes) {
    return failed(`the file has ${size} bytes; the limit is ${formatSize(maxPolicyBytes)}`, 1, 1);
  }
  const text = typeof source === "string" ? source : decodeUtf8(source);
  if (typeof text !== "string") return failed("this line is not UTF-8", text.line, 1);
  const control = findControlCharacter(text);
  if (control) return failed("control characters are not allowed in a policy", control.line, control.column);
  try {
    return compose(text);
  } catch (error) {
    if (error instanceof TooComplex) return failed(error.message, error.line, error.column);
    // The parser ran out of stack or memory, so the text is invalid.
    return failed("the file cannot be parsed", 1, 1);
  }
}

class TooComplex extends Error {
  readonly line: number;
  readonly column: number;
  constructor(message: string, place: { line: number; col: number }) {
    super(message);
    this.line = place.line;
    this.column = place.col;
  }
}

function compose(text: string): PolicyText {
  const lines = new LineCounter();
  lines.addNewLine(0);
  const parser = new Parser(lines.addNewLine);
  const tokens = [];
  let count = 0;
  for (const lexeme of new Lexer().lex(text)) {
    for (const token of parser.next(lexeme)) tokens.push(token);
    // Composing is recursive, and a stack overflow inside a regular expression kills the process.
    if (parser.stack.length > maxDepth) throw new TooComplex("nested too deeply", lines.linePos(parser.offset));
    if (++count > maxTokens) throw new TooComplex("too many entries for a policy", lines.linePos(parser.offset));
  }
  for (const token of parser.end()) tokens.push(token);

  const composer = new Composer({
    ...{ version: "1.2", schema: "core", strict: true, stringKeys: true, merge: false, resolveKnownTags: false },
    // our own check is linear and reports both lines; the library compares every pair of keys
    uniqueKeys: false,
    prettyErrors: false,
    logLevel: "silent",
  });
  const documents = [...composer.compose(tokens, true, text.length)];
  return new Reader(lines).read(documents);
}

/** Turns nodes into plain values and remembers their positions. */
class Reader {
  readonly #lines: LineCounter;
  readonly #problems: PolicyProblem[] = [];
  readonly #places = new Map<string, { key: number; value: number }>();

  constructor(lines: LineCounter) {
    this.#lines = lines;
  }

  read(documents: readonly Document[]): PolicyText {
    const [document, second] = documents;
    const root = document?.contents ?? null;
    if (second) this.#report(second.range?.[0] ?? 0, [], "a policy is one YAML document; a second one starts here");
    const directives = document?.directives;
    if (directives && (directives.yaml.explicit || Object.keys(directives.tags).length > 1)) {
      this.#report(0, [], "directives such as %YAML are not allowed in a policy");
    }
    for (const error of document?.errors ?? []) this.#report(error.pos[0], [], printable(error.message, 160));
    const value = this.#problems.length > 0 ? undefined : this.#plain(root as Node | null, []);
    const locate = (path: PolicyPath, at: "key" | "value" = "value") => this.#locate(path, at);
    return { value, problems: this.#problems, locate };
  }

  #plain(node: Node | null, path: PolicyPath): unknown {
    if (node === null) return null;
    const offset = node.range?.[0] ?? 0;
    if (isAlias(node))
      return this.#report(offset, path, "aliases (*name) are not allowed in a policy; write the value out");
    if (node.tag !== undefined) return this.#report(offset, path, "tags (!name) are not allowed in a policy");
    if (isSeq(node)) {
      return node.items.map((item, index) => {
        const below = [...path, index];
        const child = item as Node | null;
        this.#remember(below, child?.range?.[0] ?? offset, child?.range?.[0] ?? offset);
        return this.#plain(child, below);
      });
    }
    if (isMap(node)) return this.#plainMap(node.items as readonly Entry[], path, offset);
    return isScalar(node) ? node.value : this.#report(offset, path, "expected plain YAML");
  }

  #plainMap(items: readonly Entry[], path: PolicyPath, start: number): Record<string, unknown> {
    const entries: [string, unknown][] = [];
    const seen = new Map<string, number>();
    for (const { key, value } of items) {
      const offset = key?.range?.[0] ?? start;
      if (!isScalar(key)) {
        this.#report(offset, path, "a key must be plain text");
        continue;
      }
      const name = String(key.value);
      const below = [...path, name];
      const earlier = seen.get(name);
      if (earlier !== undefined) {
        this.#report(offset, below, `is written twice; the first is on line ${this.#lines.linePos(earlier).line}`);
        continue;
      }
      seen.set(name, offset);
      this.#remember(below, offset, value?.range?.[0] ?? offset);
      entries.push([name, this.#plain(value, below)]);
    }
    return Object.fromEntries(entries);
  }

  #remember(path: PolicyPath, key: number, value: number): void {
    this.#places.set(JSON.stringify(path), { key, value });
  }

  #report(offset: number, path: PolicyPath, message: string): undefined {
    const { line, col } = this.#lines.linePos(offset);
    this.#problems.push({ rule: rulePath(path), message, line, column: col });
  }

  /** The position of a rule, or of the nearest parent that the file has. */
  #locate(path: PolicyPath, at: "key" | "value"): { line: number; column: number } {
    for (let length = path.length; length > 0; length--) {
      const place = this.#places.get(JSON.stringify(path.slice(0, length)));
      if (!place) continue;
      const { line, col } = this.#lines.linePos(length === path.length && at === "key" ? place.key : place.value);
      return { line, column: col };
    }
    return { line: 1, column: 1 };
  }
}

interface Entry {
  readonly key: Node | null;
  readonly value: Node | null;
}

function failed(message: string, line: number, column: number): PolicyText {
  return { value: undefined, problems: [{ rule: "", message, line, column }], locate: () => ({ line, column }) };
}

/** The text, or the first line that is not UTF-8. */
function decodeUtf8(bytes: Uint8Array): string | { line: number } {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  try {
    return decoder.decode(bytes);
  } catch {
    let line = 1;
    for (let start = 0; start < bytes.length; line++) {
      const end = bytes.indexOf(0x0a, start);
      const part = bytes.subarray(start, end < 0 ? bytes.length : end);
      try {
        decoder.decode(part);
      } catch {
        return { line };
      }
      start = end < 0 ? bytes.length : end + 1;
    }
    return { line: 1 };
  }
}

function findControlCharacter(text: string): { line: number; column: number } | undefined {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is refused
  const index = text.search(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]|\r(?!\n)/);
  if (index < 0) return undefined;
  const before = text.slice(0, index).split("\n");
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}
