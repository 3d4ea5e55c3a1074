import { expect, test } from "vitest";
import { shownName, shownOrder, shownText } from "./shown-name.ts";

test.each([
  ["report.csv", "report.csv"],
  ["Grüße 日本語 ❤\uFE0F😀.txt", "Grüße 日本語 ❤\uFE0F😀.txt"],
  ["photo\u202Egpj.exe", "photo\\u202egpj.exe"],
  ["a\u2066b\u2069", "a\\u2066b\\u2069"],
  ["a\nb\tc\u0007\u009b", "a\\nb\\tc\\u0007\\u009b"],
  ["zero\u200Bwidth\uFEFF", "zero\\u200bwidth\\ufeff"],
  ["tag\u{E0041}", "tag\\u{e0041}"],
  ["half\uD800", "half\\ud800"],
  ["\u3164", "\\u3164"],
  ["<img src=x onerror=alert(1)>", "<img src=x onerror=alert(1)>"],
])("the name %j is shown as %j", (name, shown) => {
  expect(shownName(name)).toBe(shown);
});

test("a long name keeps its beginning and its extension", () => {
  const shown = shownName(`${"a".repeat(1000)}.csv`, 40);
  expect(shown).toHaveLength(40);
  expect(shown).toMatch(/^a+….*\.csv$/);
});

test("text keeps its lines, and direction marks in it are escaped", () => {
  expect(shownText("a\r\n\tb\u202E")).toBe("a\n\tb\\u202e");
});

test("long text is cut at its end", () => {
  expect(shownText("abcdef", 3)).toBe("abc…");
});

test("output keeps everything but marks that change the order of its text", () => {
  expect(shownOrder("a\u202Eb\u2066c \u{1F468}\u200D\u{1F4BB}\n")).toBe("a\\u202eb\\u2066c \u{1F468}\u200D\u{1F4BB}\n");
});
