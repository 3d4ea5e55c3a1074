import { isDeepStrictEqual } from "node:util";
import { type JsonMember, type JsonSpan, jsonSpans } from "./json-spans.ts";

/**
 * Pure: sets the value at a path of a JSON text, or removes it with `undefined`. Nothing else changes: order, comments,
 * indentation and line ends of the rest stay. Objects on the way are created. Throws `JsonSyntaxError`.
 */
export function editJson(text: string, path: readonly string[], value: unknown): string {
  if (text.replace("\ufeff", "").trim() === "") return editJson("{}\n", path, value);
  let object = objectAt(text, jsonSpans(text));
  for (const [index, key] of path.entries()) {
    const member = memberOf(object, key);
    const rest = path.slice(index + 1);
    if (!member) return value === undefined ? text : added(text, object, key, nested(rest, value));
    if (rest.length === 0) return value === undefined ? removed(text, object, member) : replaced(text, member, value);
    object = objectAt(text, member.value, key);
  }
  return text;
}

/** The value at a path; undefined if there is none. */
export function readJson(text: string, path: readonly string[]): unknown {
  if (text.replace("\ufeff", "").trim() === "") return undefined;
  let span = jsonSpans(text);
  for (const key of path) {
    const member = span.kind === "object" ? memberOf(span, key) : undefined;
    if (!member) return undefined;
    span = member.value;
  }
  return plainValue(text, span);
}

/** Whether two texts differ in nothing but what is at a path, and in the object around it if it has nothing else. */
export function differsOnlyAt(before: string, after: string, path: readonly string[]): boolean {
  return isDeepStrictEqual(...([before, after].map((text) => elsewhere(text, path)) as [unknown, unknown]));
}

function elsewhere(text: string, path: readonly string[]): unknown {
  if (text.replace("\ufeff", "").trim() === "") return [];
  const walk = (span: JsonSpan, at: readonly string[]): unknown => {
    if (span.kind !== "object") return text.slice(span.start, span.end);
    const others = span.members.filter(({ key }) => at.length !== 1 || key !== at[0]);
    const members = others.map(({ key, value }): [string, unknown] => [
      key,
      walk(value, key === at[0] ? at.slice(1) : []),
    ]);
    return members.filter(([key, value]) => !(key === at[0] && isDeepStrictEqual(value, [])));
  };
  return walk(jsonSpans(text), path);
}

/** The value of a span. Comments and commas at the end are left out by reading member by member. */
function plainValue(text: string, span: JsonSpan): unknown {
  if (span.kind === "object") {
    return Object.fromEntries(span.members.map(({ key, value }) => [key, plainValue(text, value)]));
  }
  try {
    return JSON.parse(text.slice(span.start, span.end));
  } catch {
    return Symbol("an array with comments, which equals nothing");
  }
}

type JsonObject = Extract<JsonSpan, { kind: "object" }>;

function objectAt(text: string, span: JsonSpan, key?: string): JsonObject {
  if (span.kind === "object") return span;
  throw new TypeError(key === undefined ? "it is not an object" : `${key} is not an object`, { cause: text });
}

/** A name that occurs twice is refused: which of the two a client reads is its own business. */
function memberOf({ members }: JsonObject, key: string): JsonMember | undefined {
  const found = members.filter((member) => member.key === key);
  if (found.length > 1) throw new TypeError(`${JSON.stringify(key)} occurs twice`);
  return found[0];
}

function nested(path: readonly string[], value: unknown): unknown {
  return path.reduceRight((inner, key) => ({ [key]: inner }), value);
}

function replaced(text: string, { keyStart, value }: JsonMember, next: unknown): string {
  const isFlat = !text.slice(value.start, value.end).includes("\n") && text.slice(value.start, value.end).includes(":");
  const shown = isFlat ? compact(next) : pretty(text, next, indentAt(text, keyStart));
  return text.slice(0, value.start) + shown + text.slice(value.end);
}

function added(text: string, object: JsonObject, key: string, value: unknown): string {
  const last = object.members.at(-1);
  const isFlat = last !== undefined && !text.slice(object.start, object.end).includes("\n");
  if (isFlat) return insert(text, last.value.end, `, ${JSON.stringify(key)}: ${compact(value)}`);
  const outer = indentAt(text, object.start);
  const indent = last === undefined ? outer + unitOf(text) : indentAt(text, last.keyStart);
  const eol = eolOf(text);
  const member = `${eol}${indent}${JSON.stringify(key)}: ${pretty(text, value, indent)}`;
  if (last === undefined) {
    const isEmpty = text.slice(object.start + 1, object.end - 1).trim() === "";
    if (!isEmpty) return insert(text, object.start + 1, member); // only comments, which stay behind it
    return `${text.slice(0, object.start + 1)}${member}${eol}${outer}${text.slice(object.end - 1)}`;
  }
  if (last.comma !== undefined) return insert(text, behindComment(text, last.comma + 1), `${member},`);
  return insert(insert(text, behindComment(text, last.value.end), member), last.value.end, ",");
}

/** The place behind a comment that ends on the same line, which belongs to what is before it. */
function behindComment(text: string, at: number): number {
  const lineEnd = /\r?\n/.exec(text.slice(at));
  const rest = text.slice(at, lineEnd ? at + lineEnd.index : undefined);
  return lineEnd && /^[ \t]*(\/\/.*|\/\*(?:(?!\*\/).)*\*\/[ \t]*)$/.test(rest) ? at + rest.length : at;
}

function removed(text: string, object: JsonObject, member: JsonMember): string {
  const index = object.members.indexOf(member);
  const before = object.members[index - 1];
  const end = member.comma === undefined ? member.value.end : member.comma + 1;
  const start = lineStart(text, member.keyStart, end);
  let rest = text.slice(0, start) + text.slice(end);
  if (member.comma === undefined && before?.comma !== undefined) {
    rest = rest.slice(0, before.comma) + rest.slice(before.comma + 1);
  }
  if (object.members.length > 1) return rest;
  const close = rest.indexOf("}", object.start);
  const isBare = rest.slice(object.start + 1, close).trim() === "";
  return isBare ? `${rest.slice(0, object.start + 1)}${rest.slice(close)}` : rest;
}

/** Where to cut: at the line break before the member if it has its lines to itself, else right before it. */
function lineStart(text: string, start: number, end: number): number {
  const line = text.slice(0, start).replace(/[ \t]+$/, "");
  // A bracket behind it would move behind a comment that ends the line before.
  const standsAlone = line.endsWith("\n") && /^[ \t]*(\r?\n|$)/.test(text.slice(end));
  if (standsAlone) return line.endsWith("\r\n") ? line.length - 2 : line.length - 1;
  return line.endsWith(",") || line.endsWith("{") ? line.length : start;
}

function insert(text: string, at: number, added: string): string {
  return text.slice(0, at) + added + text.slice(at);
}

/** On one line, with spaces as people write them. */
function compact(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(compact).join(", ")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}: ${compact(item)}`);
  return members.length === 0 ? "{}" : `{ ${members.join(", ")} }`;
}

/** In several lines, except lists, which stay on one as people write them. */
function pretty(text: string, value: unknown, indent: string): string {
  if (Array.isArray(value) || typeof value !== "object" || value === null) return compact(value);
  const eol = eolOf(text);
  const inner = indent + unitOf(text);
  const members = Object.entries(value).map(
    ([key, item]) => `${inner}${JSON.stringify(key)}: ${pretty(text, item, inner)}`,
  );
  return members.length === 0 ? "{}" : `{${eol}${members.join(`,${eol}`)}${eol}${indent}}`;
}

/** The indentation of the line that this offset is on. */
function indentAt(text: string, at: number): string {
  const line = text.slice(text.lastIndexOf("\n", at - 1) + 1, at);
  return /^[ \t]*/.exec(line)?.[0] ?? "";
}

function unitOf(text: string): string {
  return /^[\t ]+(?=")/m.exec(text)?.[0] ?? "  ";
}

function eolOf(text: string): string {
  return /\r\n/.test(text) ? "\r\n" : "\n";
}
