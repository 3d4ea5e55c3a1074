import { type FieldType, literalText, typeText } from "./field-type.ts";

/** What is wrong with a value, and where: `records[2].name`. */
export interface ValueError {
  readonly path: string;
  readonly message: string;
}

export type Checked<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly errors: readonly ValueError[] };

/** More errors help nobody, and a list from a cell can have a million wrong items. */
export const maxErrors = 20;
const previewChars = 40;

/**
 * Checks a value against a type and converts it where DSPy does: text that holds JSON, numbers in text, 1 for True.
 * `atTop`: the value of a whole field, where a number also becomes text.
 */
export function checkValue(value: unknown, type: FieldType, path: string, atTop = true): Checked<unknown> {
  switch (type.kind) {
    case "any":
      return fine(value);
    case "none":
      return isNone(value) ? fine(null) : wrong(path, type, value);
    case "str":
      return checkText(value, path, atTop);
    case "int":
      return checkInt(value, path);
    case "float":
      return checkFloat(value, path);
    case "bool":
      return checkBool(value, path);
    case "literal":
      return checkLiteral(value, type, path);
    case "list":
      return checkList(atTop ? fromJson(value) : value, type, path);
    case "dict":
      return checkDict(atTop ? fromJson(value) : value, type, path);
    case "union":
      return checkUnion(value, type, path, atTop);
  }
}

function fine<T>(value: T): Checked<T> {
  return { ok: true, value };
}

function wrong(path: string, type: FieldType, value: unknown, advice?: string): Checked<never> {
  const message = `expected ${typeText(type)}, got ${describe(value)}${advice === undefined ? "" : `; ${advice}`}`;
  return { ok: false, errors: [{ path, message }] };
}

function checkText(value: unknown, path: string, atTop: boolean): Checked<unknown> {
  if (typeof value === "string") return fine(value);
  if (atTop && typeof value === "number") return fine(String(value));
  if (atTop && typeof value === "boolean") return fine(value ? "True" : "False");
  return wrong(path, { kind: "str" }, value, "convert it with str() or json.dumps()");
}

function checkInt(value: unknown, path: string): Checked<unknown> {
  const number = typeof value === "string" ? numberIn(value) : value;
  if (typeof number === "number" && Number.isInteger(number)) {
    if (Number.isSafeInteger(number)) return fine(number);
    return wrong(path, { kind: "int" }, value, "the number is too large for JSON; declare str");
  }
  const advice = typeof number === "number" ? "round it, or declare float" : undefined;
  return wrong(path, { kind: "int" }, value, advice);
}

function checkFloat(value: unknown, path: string): Checked<unknown> {
  const number = typeof value === "string" ? numberIn(value) : value;
  if (typeof number === "number" && Number.isFinite(number)) return fine(number);
  return wrong(path, { kind: "float" }, value);
}

const truths: Readonly<Record<string, boolean>> = {
  ...Object.fromEntries(["true", "yes", "on", "t", "y", "1"].map((word) => [word, true])),
  ...Object.fromEntries(["false", "no", "off", "f", "n", "0"].map((word) => [word, false])),
};

function checkBool(value: unknown, path: string): Checked<unknown> {
  if (typeof value === "boolean") return fine(value);
  if (value === 0 || value === 1) return fine(value === 1);
  const word = typeof value === "string" ? value.trim().toLowerCase() : "";
  return Object.hasOwn(truths, word) ? fine(truths[word]) : wrong(path, { kind: "bool" }, value);
}

function checkLiteral(value: unknown, type: FieldType & { kind: "literal" }, path: string): Checked<unknown> {
  if (type.values.some((allowed) => allowed === value)) return fine(value);
  const bare = typeof value === "string" ? withoutQuotes(value) : value;
  if (type.values.some((allowed) => allowed === bare)) return fine(bare);
  const message = `expected one of ${type.values.map(literalText).join(", ")}; got ${describe(value)}`;
  return { ok: false, errors: [{ path, message }] };
}

/** Models write `'yes'` or `Literal["yes"]` for `yes`. */
function withoutQuotes(text: string): string {
  const inner = /^(?:Literal|str)\[(.*)\]$/s.exec(text.trim())?.[1] ?? text.trim();
  return /^(["'])(.*)\1$/s.exec(inner)?.[2] ?? inner;
}

function checkList(value: unknown, type: FieldType & { kind: "list" }, path: string): Checked<unknown> {
  if (!Array.isArray(value)) return wrong(path, type, value);
  return collect(
    value.map((item, index) => ({ key: index, path: `${path}[${index}]`, item })),
    type.of,
    (parts) => parts.map(([, item]) => item),
  );
}

function checkDict(value: unknown, type: FieldType & { kind: "dict" }, path: string): Checked<unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return wrong(path, type, value);
  const items = Object.entries(value).map(([key, item]) => ({ key, path: keyPath(path, key), item }));
  return collect(items, type.of, (parts) => Object.fromEntries(parts));
}

function collect<Key>(
  items: readonly { key: Key; path: string; item: unknown }[],
  type: FieldType,
  assemble: (parts: [Key, unknown][]) => unknown,
): Checked<unknown> {
  const parts: [Key, unknown][] = [];
  const errors: ValueError[] = [];
  for (const { key, path, item } of items) {
    const checked = checkValue(item, type, path, false);
    if (checked.ok) parts.push([key, checked.value]);
    else errors.push(...checked.errors);
    if (errors.length >= maxErrors) break;
  }
  return errors.length === 0 ? fine(assemble(parts)) : { ok: false, errors: errors.slice(0, maxErrors) };
}

/** A member that takes the value as it is comes before one that would convert it: `3` stays an int in `str | int`. */
function checkUnion(
  value: unknown,
  type: FieldType & { kind: "union" },
  path: string,
  atTop: boolean,
): Checked<unknown> {
  if (isNone(value) && type.of.some(({ kind }) => kind === "none")) return fine(null);
  const tries = type.of.filter(({ kind }) => kind !== "none").map((member) => checkValue(value, member, path, atTop));
  const accepted = tries.filter((one) => one.ok);
  const best = accepted.find((one) => one.value === value) ?? accepted[0];
  if (best !== undefined) return best;
  const text = atTop && typeof value === "string" ? value.trim() : "";
  if ((text === "null" || text === "None") && type.of.some(({ kind }) => kind === "none")) return fine(null);
  const [only] = tries;
  return tries.length === 1 && only !== undefined ? only : wrong(path, type, value);
}

function isNone(value: unknown): boolean {
  return value === null || value === undefined;
}

function numberIn(text: string): number | undefined {
  const trimmed = text.trim();
  return /^[+-]?(?:\d+(?:_\d+)*(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/.test(trimmed)
    ? Number(trimmed.replaceAll("_", ""))
    : undefined;
}

/** A list or dict may come as JSON text. */
function fromJson(value: unknown): unknown {
  if (typeof value !== "string") return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

function keyPath(path: string, key: string): string {
  return /^[A-Za-z_]\w*$/.test(key) ? `${path}.${key}` : `${path}[${JSON.stringify(key.slice(0, previewChars))}]`;
}

/** The value as Python would call it, with a short preview. */
function describe(value: unknown): string {
  if (isNone(value)) return "None";
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (typeof value === "object") return "a dict";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "number") return `${Number.isInteger(value) ? "int" : "float"} ${value}`;
  const text = String(value);
  const shown = JSON.stringify(text.length > previewChars ? `${text.slice(0, previewChars)}…` : text);
  return `str ${shown}`;
}
