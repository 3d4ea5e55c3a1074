import { expect, test } from "vitest";
import { escapeCharacters } from "./escape-characters.ts";

const unwanted = /[\p{Cc}\p{Cs}\u202e\u{e0041}]/u;

/** The obvious way: a function call for each character. */
function oneByOne(text: string): string {
  return text.replace(new RegExp(unwanted.source, "gu"), (character) => {
    const code = character.codePointAt(0) ?? 0;
    return code < 0x100 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u{${code.toString(16)}}`;
  });
}

test.each([
  ["nothing unwanted", "plain é 漢 😀"],
  ["control characters at both ends", "\0middle\u007f"],
  ["more than one step of control characters", "\0\u0001".repeat(10_000)],
  ["a pair of surrogates at the end of a step", `\0${"a".repeat(8190)}😀${"b".repeat(10)}`],
  ["an unwanted pair at the end of a step", `\0${"a".repeat(8190)}\u{e0041}\u{e0041}`],
  ["a lone surrogate at the end", "é\ud800"],
  ["letters of one and of two bytes in different steps", `\0${"é".repeat(9000)}${"漢".repeat(9000)}\0`],
])("escapeCharacters handles %s", (_, text) => {
  expect(escapeCharacters(text, unwanted)).toBe(oneByOne(text));
});
