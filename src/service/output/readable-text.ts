import { escapeCharacters } from "./escape-characters.ts";

/**
 * Makes output readable: removes colours and other terminal sequences, reduces a progress bar to its last state, and
 * escapes control and invisible characters. Takes linear time for any input.
 */
export function readableText(raw: string): string {
  if (plainAscii.test(raw)) return raw; // fast path for most output
  const plain = raw.includes("\u001b") ? raw.replace(terminalSequence, "") : raw;
  const settled = plain.includes("\r") ? plain.split("\n").map(lastState).join("\n") : plain;
  return escapeCharacters(settled, unreadable);
}

/** The same in one line, for a sentence or a row of ours. The attack: a text whose second line reads as if it were codecell's. */
export function readableLine(raw: string, maxCharacters: number): string {
  // Not a pattern for the space around a line end: with a long run of spaces it takes quadratic time.
  const parts = readableText(raw)
    .split("\n")
    .map((part) => part.trim());
  const line = parts.filter((part) => part !== "").join(" ");
  return line.length > maxCharacters ? `${line.slice(0, maxCharacters)}…` : line;
}

const plainAscii = /^[\t\n -~]*$/;

/**
 * CSI (even if the text ends inside it), then OSC and the other strings, then short escapes. No part matches across
 * another ESC, so many unfinished sequences still take linear time. The content of a malformed sequence stays visible.
 */
const terminalSequence =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: ESC is what starts a sequence
  /\u001b\[[0-?]*[ -/]*(?:[@-~]|$)|\u001b[\]PX^_][^\u0007\u001b\n]*(?:\u0007|\u001b\\)|\u001b[ -/]*[0-~]|\u001b$/g;

/**
 * Control characters, lone surrogates, unusual line ends, and invisible characters. The attack with the last: tag
 * characters hide sentences that only a model reads, and bidirectional overrides show a text in another order.
 */
const unreadable =
  // allowed: tab, line feed, soft hyphen, joiners and direction marks, variation selectors
  /(?![\t\n\u00ad\u200c-\u200f]|[\ufe00-\ufe0f])[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u;

function lastState(line: string): string {
  let end = line.length;
  while (line[end - 1] === "\r") end--;
  return line.slice(end === 0 ? 0 : line.lastIndexOf("\r", end - 1) + 1, end);
}
