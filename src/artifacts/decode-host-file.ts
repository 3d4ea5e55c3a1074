import { isUtf8 } from "node:buffer";
import { CodecellError } from "../lib/errors.ts";
import { JsonChecker } from "../lib/json/json-checker.ts";
import { printable } from "../policy/file/problem.ts";
import { csvError, parseCsv } from "./csv.ts";
import type { HostFileForm } from "./host-file-form.ts";
import { JsonList } from "./json-list.ts";
import { jsonErrorOffset, lineAndColumn } from "./json-position.ts";

/**
 * What is sent into the cell. `json`: JSON text. `text`: UTF-8 that becomes a string there. `bytes`: unchanged. JSON values are
 * sent as they were written, so that no number is rounded.
 */
export interface DecodedHostFile {
  readonly format: "json" | "text" | "bytes";
  readonly body: Uint8Array;
}

/** a text longer than this is not wrapped into JSON */
const largestJsonTextBytes = 1_000_000;
/** parsed text becomes one JavaScript string, which has a maximum length */
const largestParsedBytes = 256 * 2 ** 20;

/** Turns the bytes of a file into what the kernel gets, or throws with the line that is malformed. */
export function decodeHostFile(bytes: Uint8Array, form: HostFileForm): DecodedHostFile {
  if (form === "bytes") return { format: "bytes", body: bytes };
  const content = withoutByteOrderMark(bytes);
  checkUtf8(content);
  if (form === "text" && content.length > largestJsonTextBytes) return { format: "text", body: content };
  if (content.length > largestParsedBytes) {
    throw new CodecellError("too_large", `a ${form} file can have at most ${largestParsedBytes} bytes`, {
      hint: "load it as text or bytes and parse it in the cell",
      details: { maxBytes: largestParsedBytes },
    });
  }
  return { format: "json", body: encoders[form](content) };
}

const encoders: Record<Exclude<HostFileForm, "bytes">, (content: Uint8Array) => Uint8Array> = {
  text: (content) => Buffer.from(JSON.stringify(decode(content))),
  lines(content) {
    const list = new JsonList();
    for (const { text } of linesOf(decode(content))) list.item(quote(text));
    return list.end();
  },
  json(content) {
    checkJson(content, 1);
    return content;
  },
  jsonl(content) {
    const list = new JsonList();
    for (const { text, line } of linesOf(decode(content))) {
      if (text.trim() === "") continue;
      if (!isShortJson(text)) checkJson(Buffer.from(text), line);
      list.item(text);
    }
    return list.end();
  },
  csv: (content) => csvObjects(decode(content)),
};

/** Lines without their ends. An empty rest after the last line end is not a line. */
function* linesOf(text: string): Generator<{ text: string; line: number }> {
  let line = 1;
  for (let start = 0; start < text.length; line++) {
    const found = text.indexOf("\n", start);
    const end = found < 0 ? text.length : found;
    yield { text: text.slice(start, end > start && found >= 0 && text[end - 1] === "\r" ? end - 1 : end), line };
    start = end + 1;
  }
}

/** A list of objects, of which each has the names of the first row. */
function csvObjects(text: string): Uint8Array {
  const list = new JsonList();
  let keys: string[] | undefined;
  for (const { fields, line } of parseCsv(text)) {
    if (keys === undefined) {
      keys = keysOf(fields, line);
      continue;
    }
    if (fields.length !== keys.length)
      throw csvError(line, `the row has ${fields.length} fields, but the first row has ${keys.length}`);
    // Not an object, which would put numeric column names first and lose one named __proto__.
    list.item("{");
    for (let index = 0; index < keys.length; index++) {
      list.more(keys[index] as string);
      list.more(quote(fields[index] as string));
    }
    list.more("}");
  }
  return list.end();
}

/** The columns as they stand before each value of a row. */
function keysOf(columns: readonly string[], line: number): string[] {
  const seen = new Set<string>();
  return columns.map((column, index) => {
    if (seen.has(column)) throw csvError(line, `two columns are named ${JSON.stringify(printable(column))}`);
    seen.add(column);
    return `${index === 0 ? "" : ","}${JSON.stringify(column)}:`;
  });
}

/** Fast path: most of the millions of fields need only quotes. */
function quote(text: string): string {
  return /^[ !#-[\]-~]*$/.test(text) ? `"${text}"` : JSON.stringify(text);
}

/**
 * Checks it without creating anything of it. The attack: the parser takes gigabytes for a file of nested or empty arrays. How deep
 * they may be nested is up to Python.
 */
function checkJson(content: Uint8Array, firstLine: number): void {
  const checker = new JsonChecker(content.length);
  if (checker.push(content) && checker.isComplete) return;
  const text = decode(content);
  const { line, column } = lineAndColumn(text, jsonErrorOffset(text));
  const where = firstLine - 1 + line;
  throw new CodecellError("usage", `line ${where}, column ${column}: this is not JSON`, {
    hint: "fix the file, or load it as text",
    details: { line: where, column },
  });
}

/** The parser is faster for a short line, and cannot take much for it. */
function isShortJson(text: string): boolean {
  if (text.length > 100) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function checkUtf8(content: Uint8Array): void {
  if (isUtf8(content)) return;
  let line = 1;
  for (let start = 0; start < content.length; line++) {
    const found = content.indexOf(10, start);
    const end = found < 0 ? content.length : found;
    if (!isUtf8(content.subarray(start, end))) break;
    start = end + 1;
  }
  throw new CodecellError("usage", `line ${line}: this is not UTF-8`, {
    hint: "load it as bytes and decode it in the cell",
    details: { line },
  });
}

function withoutByteOrderMark(bytes: Uint8Array): Uint8Array {
  const hasMark = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
  return hasMark ? bytes.subarray(3) : bytes;
}

function decode(content: Uint8Array): string {
  return Buffer.from(content.buffer, content.byteOffset, content.byteLength).toString("utf8");
}
