import type { CodecellError } from "../../lib/errors.ts";
import { nearest } from "../../policy/file/suggest.ts";
import type { FieldType, LiteralValue } from "./field-type.ts";
import { signatureError } from "./signature-error.ts";
import { type Token, tokenize } from "./tokens.ts";

const simpleTypes: Readonly<Record<string, FieldType>> = {
  str: { kind: "str" },
  int: { kind: "int" },
  float: { kind: "float" },
  bool: { kind: "bool" },
  Any: { kind: "any" },
  json: { kind: "any" },
  None: { kind: "none" },
};
const containers = ["list", "List", "dict", "Dict", "Optional", "Union", "Literal"];
const supported = "str, int, float, bool, list[T], dict[str, T], Optional[T], T | None, Literal[...] and Any";
/** Types that DSPy knows and a value from a cell cannot have. */
const replacements: Readonly<Record<string, string>> = {
  tuple: "list[T]",
  Tuple: "list[T]",
  set: "list[T]",
  Set: "list[T]",
  bytes: "str, and encode the bytes as base64",
  object: "Any",
  string: "str",
  number: "float",
  boolean: "bool",
  integer: "int",
  array: "list[T]",
  datetime: "str, in ISO 8601",
  date: "str, in ISO 8601",
};
/** The attack: a signature from inside a cell that nests until the parser overflows the stack. */
const maxDepth = 16;

/** Reads tokens in order. */
export class TokenReader {
  readonly source: string;
  readonly #tokens: readonly Token[];
  #next = 0;

  constructor(source: string) {
    this.source = source;
    this.#tokens = tokenize(source);
  }

  peek(): Token {
    return this.#tokens[this.#next] ?? { kind: "end", text: "", value: "", at: this.source.length };
  }

  take(): Token {
    const token = this.peek();
    if (token.kind !== "end") this.#next++;
    return token;
  }

  /** Takes the mark if it is next. */
  skip(mark: string): boolean {
    const { kind, text } = this.peek();
    const isNext = kind === "mark" && text === mark;
    if (isNext) this.take();
    return isNext;
  }

  fail(token: Token, problem: string, hint: string): CodecellError {
    return signatureError(this.source, token.at, problem, hint);
  }
}

/** Parses one type that stands alone, such as `list[str]`. */
export function parseType(text: string): FieldType {
  const reader = new TokenReader(text);
  const type = readType(reader);
  const extra = reader.peek();
  if (extra.kind !== "end")
    throw reader.fail(extra, `unexpected ${extra.text} after the type`, `types are ${supported}`);
  return type;
}

/** Reads `T` or `T | U`. */
export function readType(reader: TokenReader, depth = 0): FieldType {
  if (depth > maxDepth) {
    throw reader.fail(reader.peek(), `the type is nested deeper than ${maxDepth} levels`, "use Any for the inner part");
  }
  const members = [readOne(reader, depth)];
  while (reader.skip("|")) members.push(readOne(reader, depth));
  return union(members);
}

function readOne(reader: TokenReader, depth: number): FieldType {
  const token = readTypeName(reader);
  const simple = Object.hasOwn(simpleTypes, token.text) ? simpleTypes[token.text] : undefined;
  if (simple !== undefined) return simple;
  switch (token.text) {
    case "list":
    case "List":
      return { kind: "list", of: readArguments(reader, token, 1, depth)[0] ?? { kind: "any" } };
    case "dict":
    case "Dict":
      return readDict(reader, token, depth);
    case "Optional":
      return union([...readArguments(reader, token, 1, depth, true), { kind: "none" }]);
    case "Union":
      return union(readArguments(reader, token, Number.POSITIVE_INFINITY, depth, true));
    case "Literal":
      return readLiteral(reader, token);
    default:
      throw unknownType(reader, token);
  }
}

/** `typing.List` is `List`. */
function readTypeName(reader: TokenReader): Token {
  let token = reader.take();
  if (token.kind === "name" && token.text === "typing" && reader.skip(".")) token = reader.take();
  if (token.kind === "name") return token;
  const found = token.kind === "end" ? "the signature ends here" : `found ${token.text}`;
  throw reader.fail(token, `a type is missing: ${found}`, `types are ${supported}`);
}

function unknownType(reader: TokenReader, token: Token): CodecellError {
  const replacement = Object.hasOwn(replacements, token.text) ? replacements[token.text] : undefined;
  if (replacement !== undefined) {
    return reader.fail(token, `the type ${token.text} is not supported`, `use ${replacement}`);
  }
  const near = nearest(token.text, [...Object.keys(simpleTypes), ...containers]);
  const hint = near === undefined ? `types are ${supported}` : `did you mean ${near}? Types are ${supported}`;
  return reader.fail(token, `unknown type ${token.text}`, hint);
}

function readArguments(reader: TokenReader, owner: Token, most: number, depth: number, isNeeded = false): FieldType[] {
  if (!reader.skip("[")) {
    if (isNeeded)
      throw reader.fail(reader.peek(), `${owner.text} needs a type in brackets`, `write ${owner.text}[str]`);
    return [];
  }
  const types: FieldType[] = [];
  do {
    if (types.length === most) {
      throw reader.fail(
        reader.peek(),
        `${owner.text} takes ${most === 1 ? "one type" : `${most} types`}`,
        "remove the others",
      );
    }
    types.push(readType(reader, depth + 1));
  } while (reader.skip(","));
  needBracket(reader, owner);
  return types;
}

function readDict(reader: TokenReader, owner: Token, depth: number): FieldType {
  const at = reader.peek();
  const types = readArguments(reader, owner, 2, depth);
  if (types.length === 0) return { kind: "dict", of: { kind: "any" } };
  const [key, of] = types;
  if (of === undefined) throw reader.fail(at, "dict needs a type for keys and one for values", "write dict[str, T]");
  if (key?.kind !== "str") {
    throw reader.fail(at, "the keys of a dict must be str", "write dict[str, T]: outputs travel as JSON");
  }
  return { kind: "dict", of };
}

function readLiteral(reader: TokenReader, owner: Token): FieldType {
  if (!reader.skip("[")) {
    throw reader.fail(reader.peek(), "Literal needs its values in brackets", 'write Literal["yes", "no"]');
  }
  const values: LiteralValue[] = [];
  do {
    if (reader.peek().text === "]" && values.length > 0) break;
    values.push(literalValue(reader, reader.take()));
  } while (reader.skip(","));
  needBracket(reader, owner);
  return { kind: "literal", values: [...new Set(values)] };
}

function literalValue(reader: TokenReader, token: Token): LiteralValue {
  if (token.kind === "string") return token.value;
  if (token.kind === "number" && /^[+-]?\d+$/.test(token.text)) return Number(token.text);
  if (token.kind === "name") {
    if (token.text === "True" || token.text === "False") return token.text === "True";
    if (token.text === "None") return null;
  }
  throw reader.fail(
    token,
    "a value of a Literal must be text in quotes, an int, True, False or None",
    'write Literal["yes", "no"]',
  );
}

function needBracket(reader: TokenReader, owner: Token): void {
  const token = reader.peek();
  if (!reader.skip("]")) throw reader.fail(token, `${owner.text}[ is never closed`, "add the missing ]");
}

/** Unions do not nest, and a union of one type is that type. */
function union(types: readonly FieldType[]): FieldType {
  const flat = types.flatMap((type) => (type.kind === "union" ? type.of : [type]));
  const seen = new Set<string>();
  const members = flat.filter((type) => {
    const key = JSON.stringify(type);
    return !seen.has(key) && seen.add(key);
  });
  const [only] = members;
  return members.length === 1 && only !== undefined ? only : { kind: "union", of: members };
}
