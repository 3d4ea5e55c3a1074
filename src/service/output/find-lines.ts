import { CodecellError } from "../../lib/errors.ts";

/** Which lines to find. */
export interface LinePattern {
  /** text that a line contains; `*` has no special meaning unless `wildcards` is set */
  readonly pattern: string;
  /** `*` matches anything within the line, `\*` matches a star */
  readonly wildcards?: boolean;
  readonly ignoreCase?: boolean;
}

/** Returns where in a line the match begins, or -1. */
export type LineMatcher = (line: string) => number;

const maxPatternCharacters = 200;

/**
 * Does not support regular expressions. The attack: a pattern and a text that block the host's thread for hours. The cost
 * per line is at most its length times the length of the pattern.
 */
export function lineMatcher(search: LinePattern): LineMatcher {
  const { pattern } = search;
  if (pattern === "" || pattern.includes("\n") || pattern.length > maxPatternCharacters) {
    throw new CodecellError(
      "usage",
      `a search pattern must have 1 to ${maxPatternCharacters} characters and no line break`,
      {
        hint: "search for the text of one line, and request context lines around it",
      },
    );
  }
  const fold = (text: string) => (search.ignoreCase ? text.toLowerCase() : text);
  const parts = (search.wildcards ? wildcardParts(pattern) : [pattern]).map(fold);
  return (line) => firstMatch(fold(line), parts);
}

function firstMatch(line: string, parts: readonly string[]): number {
  let first = -1;
  let at = 0;
  for (const part of parts) {
    const found = line.indexOf(part, at);
    if (found === -1) return -1;
    if (first === -1) first = found;
    at = found + part.length;
  }
  return Math.max(0, first);
}

function wildcardParts(pattern: string): string[] {
  const parts = pattern.split(/(?<!\\)\*+/).map((part) => part.replaceAll("\\*", "*"));
  return parts.filter((part) => part !== "");
}
