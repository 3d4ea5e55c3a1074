import { CodecellError } from "../../lib/errors.ts";
import { splitsPair } from "./cut-middle.ts";

/** Which part of a text to read. */
export interface PageRequest {
  /** the unit of `offset` and `limit`; default: characters (UTF-16 units) */
  readonly by?: "characters" | "lines";
  /** the first character or line to read, from 0 */
  readonly offset?: number;
  readonly limit?: number;
}

/** A part of a text, and where the next one begins. */
export interface TextPage {
  readonly text: string;
  readonly by: "characters" | "lines";
  readonly offset: number;
  /** where the next page begins; absent at the end */
  readonly nextOffset: number | undefined;
  /** total number of characters or lines */
  readonly total: number;
  /** the position of this page in the whole text, in characters */
  readonly range: { readonly from: number; readonly to: number };
  /** whether the last line is longer than a page; read the rest of it by characters, from `range.to` */
  readonly isLineCut: boolean;
}

/** The maximum size of a page in characters, whatever is requested. */
export const maxPageCharacters = 100_000;
const defaultPage = { characters: 4_000, lines: 100 } as const;

/** Reads a part of a text. Following `nextOffset` returns the whole text, each character once. */
export function textPage(text: string, request: PageRequest): TextPage {
  const by = request.by ?? "characters";
  const offset = wholeNumber("offset", request.offset ?? 0, 0);
  const limit = wholeNumber("limit", request.limit ?? defaultPage[by], 1);
  return by === "lines" ? pageByLines(text, offset, limit) : pageByCharacters(text, offset, limit);
}

function pageByCharacters(text: string, offset: number, limit: number): TextPage {
  const total = text.length;
  let from = Math.min(offset, total);
  if (splitsPair(text, from)) from--;
  let to = Math.min(from + Math.min(limit, maxPageCharacters), total);
  if (splitsPair(text, to)) to += to - 1 > from ? -1 : 1; // a page is never empty before the end
  const nextOffset = to < total ? to : undefined;
  const range = { from, to };
  return { text: text.slice(from, to), by: "characters", offset: from, nextOffset, total, range, isLineCut: false };
}

function pageByLines(text: string, offset: number, limit: number): TextPage {
  let line = 0;
  let at = 0;
  for (; line < offset && at < text.length; line++) at = lineEndFrom(text, at);
  const first = line;
  const from = at;
  for (; line - first < limit && at < text.length; line++) {
    const end = lineEndFrom(text, at);
    if (end - from > maxPageCharacters) break;
    at = end;
  }
  const isLineCut = line === first && at < text.length;
  if (isLineCut) {
    at = from + maxPageCharacters - (splitsPair(text, from + maxPageCharacters) ? 1 : 0);
    line++;
  }
  const page = { text: text.slice(from, at), by: "lines", offset: first, range: { from, to: at }, isLineCut } as const;
  const next = line;
  let rest = isLineCut ? lineEndFrom(text, at) : at;
  const nextOffset = rest < text.length ? next : undefined;
  for (; rest < text.length; line++) rest = lineEndFrom(text, rest);
  return { ...page, nextOffset, total: line };
}

/** The position after the next line end. */
function lineEndFrom(text: string, at: number): number {
  const found = text.indexOf("\n", at);
  return found === -1 ? text.length : found + 1;
}

function wholeNumber(name: string, value: number, min: number): number {
  if (Number.isSafeInteger(value) && value >= min) return value;
  throw new CodecellError("usage", `${name} must be a whole number of at min ${min}, not ${value}`);
}
