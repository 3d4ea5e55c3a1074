import { CodecellError } from "../../lib/errors.ts";

/** How much of a long line is shown on either side of the position. */
const shownChars = 60;

/** An error in a signature: what is wrong, the place with a caret under it, and what to do. */
export function signatureError(text: string, position: number, problem: string, hint: string): CodecellError {
  return new CodecellError("usage", `the signature is not valid: ${problem}\n${pointAt(text, position)}`, {
    hint,
    details: { position },
  });
}

/** The line around the position, and a caret under it. */
function pointAt(text: string, position: number): string {
  const lineStart = text.lastIndexOf("\n", position - 1) + 1;
  const nextBreak = text.indexOf("\n", position);
  const lineEnd = nextBreak < 0 ? text.length : nextBreak;
  const from = Math.max(lineStart, position - shownChars);
  const to = Math.min(lineEnd, position + shownChars);
  const before = `${from > lineStart ? "…" : ""}${oneColumnEach(text.slice(from, position))}`;
  const after = `${oneColumnEach(text.slice(position, to))}${to < lineEnd ? "…" : ""}`;
  return `  ${before}${after}\n  ${" ".repeat(before.length)}^`;
}

/** Tabs and control characters would move the caret, and a signature can come from untrusted code. */
function oneColumnEach(text: string): string {
  return text.replace(/\p{C}/gu, " ");
}
