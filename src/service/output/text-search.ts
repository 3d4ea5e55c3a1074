import { type LinePattern, lineMatcher } from "./find-lines.ts";

/** What to find in a text. */
export interface SearchRequest extends LinePattern {
  /** lines shown before and after a match; at most 20 */
  readonly contextLines?: number;
  /** at most 1,000 */
  readonly maxMatches?: number;
}

/** A line that matches. */
export interface TextMatch {
  /** number of the line, from 0, as in a page by lines */
  readonly line: number;
  /** start of the match in the whole text, in characters; with `ignoreCase` it may be off by a few */
  readonly offset: number;
  /** the line, or the part of a long one around the match */
  readonly text: string;
  readonly before: readonly string[];
  readonly after: readonly string[];
}

/** The result of a search. */
export interface SearchAnswer {
  readonly matches: readonly TextMatch[];
  /** total number of matching lines, of which `matches` has the first */
  readonly total: number;
}

const maxShownLine = 500;
/** The maximum size of a result, context included, whatever is requested. */
const maxResultCharacters = 100_000;
const limits = { contextLines: 20, maxMatches: 1_000 } as const;
const defaults = { contextLines: 0, maxMatches: 50 } as const;

/** The lines of a text that match, in order. */
export function searchText(text: string, request: SearchRequest): SearchAnswer {
  const match = lineMatcher(request);
  const contextLines = clamp(request.contextLines ?? defaults.contextLines, limits.contextLines);
  const maxMatches = clamp(request.maxMatches ?? defaults.maxMatches, limits.maxMatches);
  const matches: TextMatch[] = [];
  let total = 0;
  let resultCharacters = 0;
  let line = 0;
  for (let start = 0; start < text.length; line++) {
    const end = endOfLine(text, start);
    const content = text.slice(start, end);
    const column = match(content);
    if (column >= 0) {
      total++;
      if (matches.length < maxMatches && resultCharacters < maxResultCharacters) {
        const before = linesBefore(text, start, contextLines);
        const after = linesAfter(text, end + 1, contextLines);
        const offset = start + Math.min(column, content.length);
        const found = { line, offset, text: shown(content, column), before, after };
        resultCharacters += [found.text, ...before, ...after].join("\n").length;
        matches.push(found);
      }
    }
    start = end + 1;
  }
  return { matches, total };
}

function linesBefore(text: string, start: number, count: number): string[] {
  const lines: string[] = [];
  for (let at = start; at > 0 && lines.length < count; ) {
    const previous = at === 1 ? 0 : text.lastIndexOf("\n", at - 2) + 1;
    lines.unshift(shown(text.slice(previous, at - 1), 0));
    at = previous;
  }
  return lines;
}

function linesAfter(text: string, start: number, count: number): string[] {
  const lines: string[] = [];
  for (let at = start; at < text.length && lines.length < count; ) {
    const end = endOfLine(text, at);
    lines.push(shown(text.slice(at, end), 0));
    at = end + 1;
  }
  return lines;
}

function endOfLine(text: string, at: number): number {
  const found = text.indexOf("\n", at);
  return found === -1 ? text.length : found;
}

/** The part of a long line around the match, without splitting a surrogate pair. */
function shown(line: string, column: number): string {
  if (line.length <= maxShownLine) return line;
  const from = Math.max(0, Math.min(column - maxShownLine / 4, line.length - maxShownLine));
  const part = line.slice(from, from + maxShownLine).replace(/^[\udc00-\udfff]|[\ud800-\udbff]$/g, "");
  return `${from > 0 ? "…" : ""}${part}${from + maxShownLine < line.length ? "…" : ""}`;
}

function clamp(value: number, max: number): number {
  return Number.isFinite(value) ? Math.max(0, Math.min(Math.floor(value), max)) : max;
}
