/** Python's decoder goes no deeper. It also ends the walk through a value that contains itself. */
const maxDepth = 1_000;
const maxPathLength = 200;
const maxNameLength = 40;

/** A value that JSON has no form for. The message says what it is and where. */
export class NotJson extends Error {
  override readonly name = "NotJson";
}

/** An array or object that is being walked through. */
interface Level {
  readonly value: object;
  /** undefined for an array */
  readonly keys: readonly string[] | undefined;
  readonly length: number;
  /** the next element */
  at: number;
}

/**
 * JSON of a value, as `JSON.stringify` makes it. It throws for what that would change without a word: NaN becomes null, and a Map
 * an empty object. Undefined is null in arrays and left out of objects, as always.
 */
export function strictJson(value: unknown): string {
  assertJson(value);
  const json = JSON.stringify(value) as string | undefined;
  if (json === undefined) throw new NotJson("undefined");
  return json;
}

/** Walks through the value without recursion: a deep one must not overflow the stack. */
function assertJson(root: unknown): void {
  const open: Level[] = [];
  const enter = (value: unknown, key: string | number) => {
    const found = unlessItself(value, key);
    if (typeof found === "object" && found !== null && isPlain(found)) {
      if (open.length === maxDepth) throw new NotJson(`more than ${maxDepth} levels, or a value that contains itself`);
      const keys = Array.isArray(found) ? undefined : Object.keys(found);
      open.push({ value: found, keys, length: keys?.length ?? (found as unknown[]).length, at: 0 });
    } else if (!isScalar(found)) {
      throw new NotJson(`${nameOf(found)}${placeOf(open)}`);
    }
  };
  enter(root, "");
  for (let level = open.at(-1); level; level = open.at(-1)) {
    const { value, keys, length } = level;
    if (level.at === length) {
      open.pop();
      continue;
    }
    const key = keys ? (keys[level.at] as string) : level.at;
    level.at++;
    const element = (value as Record<string | number, unknown>)[key];
    // Most values are arrays of numbers or strings: these take no call.
    if (typeof element !== "string" && !Number.isFinite(element)) enter(element, key);
  }
}

/** What a value says itself to be in JSON, as a Date does. */
function unlessItself(value: unknown, key: string | number): unknown {
  if ((typeof value !== "object" || value === null) && typeof value !== "bigint" && typeof value !== "function") {
    return value;
  }
  const { toJSON } = value as { toJSON?: unknown };
  return typeof toJSON === "function" ? toJSON.call(value, String(key)) : value;
}

/** Arrays, and objects without a class; those of another realm have another `Object.prototype`. */
function isPlain(value: object): boolean {
  if (Array.isArray(value)) return true;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function isScalar(value: unknown): boolean {
  if (typeof value === "number") return Number.isFinite(value);
  return value === null || value === undefined || typeof value === "string" || typeof value === "boolean";
}

function nameOf(value: unknown): string {
  if (typeof value === "number") return String(value);
  if (typeof value !== "object" || value === null) return typeof value === "bigint" ? "a BigInt" : `a ${typeof value}`;
  const { name } = (value.constructor ?? {}) as { name?: unknown };
  return typeof name === "string" && name !== "" ? `an instance of ${name.slice(0, maxNameLength)}` : "no plain object";
}

/** Where the walk is, as JavaScript writes it: `rows[3].price`. */
function placeOf(open: readonly Level[]): string {
  if (open.length === 0) return "";
  const path = open
    .map(({ keys, at }) => {
      const key = keys?.[at - 1];
      if (key === undefined) return `[${at - 1}]`;
      return /^[A-Za-z_$][\w$]*$/.test(key) && key.length <= maxNameLength
        ? `.${key}`
        : `[${JSON.stringify(key.slice(0, maxNameLength))}]`;
    })
    .join("")
    .replace(/^\./, "");
  return ` at ${path.length <= maxPathLength ? path : `${path.slice(0, maxPathLength)}…`}`;
}
