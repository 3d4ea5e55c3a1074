import { isUtf8 } from "node:buffer";
import { CodecellError } from "../lib/errors.ts";
import { printable } from "../policy/file/problem.ts";
import { csvError, parseCsv } from "./csv.ts";
import type { HostFileForm } from "./host-file-form.ts";
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
  lines: (content) => jsonList(map(linesOf(decode(content)), ({ text }) => quote(text))),
  json: (content) => {
    const text = decode(content);
    checkJson(text, 1);
    return content;
  },
  jsonl: (content) => jsonList(jsonLines(decode(content))),
  csv: (content) => jsonList(csvObjects(decode(content))),
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

function* jsonLines(text: string): Generator<string> {
  for (const { text: value, line } of linesOf(text)) {
    if (value.trim() === "") continue;
    checkJson(value, line);
    yield value;
  }
}

function* csvObjects(text: string): Generator<string> {
  let keys: string[] | undefined;
  for (const { fields, line } of parseCsv(text)) {
    if (keys === undefined) {
      const twice = fields.find((field, index) => fields.indexOf(field) !== index);
      if (twice !== undefined) throw csvError(line, `two columns are named ${JSON.stringify(printable(twice))}`);
      keys = fields.map((field) => `${JSON.stringify(field)}:`);
      continue;
    }
    if (fields.length !== keys.length)
      throw csvError(line, `the row has ${fields.length} fields, but the first row has ${keys.length}`);
    // Not an object, which would put numeric column names first and lose one named __proto__.
    let object = "";
    for (let index = 0; index < keys.length; index++) object += `${keys[index]}${quote(fields[index] ?? "")},`;
    yield `{${object.slice(0, -1)}}`;
  }
}

/** Fast path: most of the millions of fields need only quotes. */
function quote(text: string): string {
  return /^[ !#-[\]-~]*$/.test(text) ? `"${text}"` : JSON.stringify(text);
}

/** Joined in chunks, because the whole may be longer than a string can be. */
function jsonList(items: Iterable<string>): Uint8Array {
  const parts: Buffer[] = [];
  let pending = "[";
  let isFirst = true;
  for (const item of items) {
    pending += isFirst ? item : `,${item}`;
    isFirst = false;
    if (pending.length < 1_000_000) continue;
    parts.push(Buffer.from(pending));
    pending = "";
  }
  parts.push(Buffer.from(`${pending}]`));
  return Buffer.concat(parts);
}

function checkJson(text: string, firstLine: number): void {
  try {
    JSON.parse(text);
  } catch (cause) {
    const { line, column } = lineAndColumn(text, jsonErrorOffset(text));
    const where = firstLine - 1 + line;
    throw new CodecellError("usage", `line ${where}, column ${column}: this is not JSON`, {
      hint: "fix the file, or load it as text",
      cause,
      details: { line: where, column },
    });
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

function* map<From, To>(items: Iterable<From>, change: (item: From) => To): Generator<To> {
  for (const item of items) yield change(item);
}
