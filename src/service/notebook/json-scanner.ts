/** Where a value is in its text: from `start` up to `end`, without the space around it. */
export interface JsonSpan {
  readonly start: number;
  readonly end: number;
}

/** One member of an object. */
export interface JsonMember {
  readonly name: string;
  readonly value: JsonSpan;
  /** where its name begins */
  readonly start: number;
}

/** What is wrong with a JSON text, and where. */
export class JsonProblem extends Error {
  readonly at: number;
  /** what to do, if the text is a valid notebook that codecell does not run */
  readonly hint: string | undefined;

  constructor(at: number, message: string, hint?: string) {
    super(message);
    this.at = at;
    this.hint = hint;
  }
}

/** Deeper than any notebook. The attack: a text that is deep enough to overflow the stack of whoever writes it again. */
const maxDepth = 200;

/**
 * Checks one JSON value and returns where it is. Unlike `JSON.parse`, this says where a value is, so that a part of a text can be
 * replaced and every other byte stays, and it says where a text is wrong. It does not recurse.
 */
export function scanJson(text: string, from = 0): JsonSpan {
  const start = skipSpace(text, from);
  const open: string[] = [];
  for (let at = start; ; ) {
    const first = text[at];
    if (first === "{" || first === "[") {
      open.push(first);
      if (open.length > maxDepth) throw new JsonProblem(at, `nested more than ${maxDepth} levels deep`);
      at = skipSpace(text, at + 1);
      if (text[at] !== closing(first)) {
        if (first === "{") at = scanName(text, at);
        continue;
      }
    } else at = scanScalar(text, at);
    for (;;) {
      const inner = open.at(-1);
      if (inner === undefined) return { start, end: at };
      at = skipSpace(text, at);
      if (text[at] === closing(inner)) {
        open.pop();
        at++;
      } else if (text[at] === ",") {
        at = skipSpace(text, at + 1);
        if (inner === "{") at = scanName(text, at);
        break;
      } else throw unexpected(text, at, `"," or "${closing(inner)}"`);
    }
  }
}

/** The members of the object at a span that `scanJson` returned; undefined: it is no object. */
export function jsonMembers(text: string, { start }: JsonSpan): JsonMember[] | undefined {
  if (text[start] !== "{") return undefined;
  const members: JsonMember[] = [];
  for (let at = skipSpace(text, start + 1); text[at] !== "}"; ) {
    const name: string = JSON.parse(text.slice(at, scanString(text, at)));
    const value = scanJson(text, scanName(text, at));
    members.push({ name, value, start: at });
    at = skipSpace(text, value.end);
    if (text[at] === ",") at = skipSpace(text, at + 1);
  }
  return members;
}

/** The items of the array at a span that `scanJson` returned; undefined: it is no array. */
export function jsonItems(text: string, { start }: JsonSpan): JsonSpan[] | undefined {
  if (text[start] !== "[") return undefined;
  const items: JsonSpan[] = [];
  for (let at = skipSpace(text, start + 1); text[at] !== "]"; ) {
    const item = scanJson(text, at);
    items.push(item);
    at = skipSpace(text, item.end);
    if (text[at] === ",") at = skipSpace(text, at + 1);
  }
  return items;
}

/** Throws unless nothing but space follows. */
export function checkEnd(text: string, { end }: JsonSpan): void {
  const at = skipSpace(text, end);
  if (at < text.length) throw unexpected(text, at, "the end of the file");
}

function scanName(text: string, at: number): number {
  if (text[at] !== '"') throw unexpected(text, at, "the name of a member, in double quotes");
  const end = skipSpace(text, scanString(text, at));
  if (text[end] !== ":") throw unexpected(text, end, '":"');
  return skipSpace(text, end + 1);
}

const scalar = /true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;

function scanScalar(text: string, at: number): number {
  if (text[at] === '"') return scanString(text, at);
  scalar.lastIndex = at;
  if (!scalar.test(text)) throw unexpected(text, at, "a value");
  return scalar.lastIndex;
}

/** A loop, because a regular expression overflows its stack in a string of many megabytes. */
function scanString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x22) return at + 1;
    if (code < 0x20) throw new JsonProblem(at, "a control character in a string must be escaped");
    if (code === 0x5c) at = scanEscape(text, at);
  }
  throw new JsonProblem(text.length, "the file ends in the middle of a string; it is truncated");
}

const escapeSequence = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;

function scanEscape(text: string, at: number): number {
  escapeSequence.lastIndex = at;
  if (escapeSequence.test(text)) return escapeSequence.lastIndex - 1;
  if (text.length - at < 6)
    throw new JsonProblem(text.length, "the file ends in the middle of a string; it is truncated");
  throw new JsonProblem(at, "an unknown escape sequence in a string");
}

function skipSpace(text: string, from: number): number {
  let at = from;
  while (isSpace(text.charCodeAt(at))) at++;
  return at;
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}

function closing(open: string): string {
  return open === "{" ? "}" : "]";
}

function unexpected(text: string, at: number, expected: string): JsonProblem {
  if (at >= text.length) return new JsonProblem(at, `the file ends where ${expected} is expected; it is truncated`);
  return new JsonProblem(at, `${expected} is expected here`);
}
