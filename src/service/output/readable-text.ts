/**
 * Text as a reader sees it: colours and other terminal sequences removed, a progress bar reduced to its last state,
 * control and invisible characters written out. Takes time linear in the text, whatever a program prints.
 */
export function readableText(raw: string): string {
  if (plainAscii.test(raw)) return raw; // most of what programs print, in a quarter of the time
  const plain = raw.includes("\u001b") ? raw.replace(terminalSequence, "") : raw;
  const settled = plain.includes("\r") ? plain.split("\n").map(lastState).join("\n") : plain;
  return settled.replace(unreadable, writtenOut);
}

const plainAscii = /^[\t\n -~]*$/;

/**
 * CSI, then OSC and the other strings, then short escapes; a CSI that the end of the text cuts goes too. No part passes
 * another ESC, so a flood of unfinished sequences is scanned once. Of a malformed one the content stays visible.
 */
const terminalSequence =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: ESC is what starts a sequence
  /\u001b\[[0-?]*[ -/]*(?:[@-~]|$)|\u001b[\]PX^_][^\u0007\u001b\n]*(?:\u0007|\u001b\\)|\u001b[ -/]*[0-~]|\u001b$/g;

/**
 * Controls, lone surrogates, exotic line ends, and characters that show nothing. The last are an attack on a model:
 * tag characters carry whole sentences that only it reads, and bidirectional overrides show a text in another order.
 */
const unreadable =
  // let through: tab, line end, soft hyphen, joiners and direction marks, variants of one glyph
  /(?![\t\n\u00ad\u200c-\u200f]|[\ufe00-\ufe0f])[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

function lastState(line: string): string {
  let end = line.length;
  while (line[end - 1] === "\r") end--;
  return line.slice(end === 0 ? 0 : line.lastIndexOf("\r", end - 1) + 1, end);
}

function writtenOut(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return code < 0x100 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u{${code.toString(16)}}`;
}
