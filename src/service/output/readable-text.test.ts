import { expect, test } from "vitest";
import { cpuMsOf } from "../../../test/support/cpu-time.ts";
import { readableText } from "./readable-text.ts";

test.each([
  ["colours", "\u001b[1;31merror\u001b[0m: no", "error: no"],
  ["a truncated colour at the end", "half\u001b[3", "half"],
  ["a lone escape at the end", "half\u001b", "half"],
  ["a title and a clipboard write", "\u001b]0;title\u0007a\u001b]52;c;cm0=\u001b\\b", "ab"],
  ["a hyperlink, whose text stays", "\u001b]8;;http://x.test\u001b\\here\u001b]8;;\u001b\\", "here"],
  ["character set switches and saved cursors", "\u001b(Ba\u001b7b\u001b8", "ab"],
])("readableText removes %s", (_, raw, readable) => {
  expect(readableText(raw)).toBe(readable);
});

test("readableText keeps the text after an unfinished title sequence", () => {
  expect(readableText("\u001b]0;title\nnext")).toBe("0;title\nnext");
});

test("readableText escapes a terminal sequence that only appears when another one is removed", () => {
  expect(readableText("\u001b\u001b[0m[31mred")).toBe("\\x1b[31mred");
});

test.each([
  ["a progress bar becomes its last state", "start\n 10%\r 50%\r100%\nend", "start\n100%\nend"],
  ["an unfinished progress bar becomes its last state", " 10%\r 50%\r", " 50%"],
  ["a progress bar that clears its line becomes its last state", " 10%\u001b[K\r 50%\u001b[K\r", " 50%"],
  ["Windows line ends become line feeds", "a\r\nb\r\r\n", "a\nb\n"],
  ["an empty progress bar becomes an empty line", "\r\r\n\r", "\n"],
])("in readableText, %s", (_, raw, readable) => {
  expect(readableText(raw)).toBe(readable);
});

test("readableText escapes control and invisible characters", () => {
  expect(readableText("a\0b\bc\u007f\u0085")).toBe("a\\x00b\\x08c\\x7f\\x85");
  expect(readableText("pay \u202elive\u202c \u2028 \ufeff \u200b")).toBe(
    "pay \\u{202e}live\\u{202c} \\u{2028} \\u{feff} \\u{200b}",
  );
  expect(readableText(`hi${String.fromCodePoint(0xe0041)}`)).toBe("hi\\u{e0041}");
  expect(readableText("half \ud83d pair")).toBe("half \\u{d83d} pair");
});

test("readableText does not change ordinary text of any script", () => {
  const text = "tab\there\nnaïve 漢字 한국어 עברית\u200f 👩\u200d💻 ❤\ufe0f می\u200cخواهم co\u00adop";
  expect(readableText(text)).toBe(text);
});

test("readableText takes linear time for hostile input", async () => {
  const flood = (piece: string) => piece.repeat(Math.floor(1_000_000 / piece.length));
  const spentMs = await cpuMsOf(() => {
    for (const piece of ["\r", "\u001b", "\u001b[", "\u001b]", "\u001b[0;", "\u001b ", "\n", "\0"])
      readableText(flood(piece));
    readableText(`\u001b[${flood("0")}`);
    readableText(`\u001b]${flood("x")}`);
  });
  expect(spentMs).toBeLessThan(5_000); // a quadratic algorithm takes minutes
});
