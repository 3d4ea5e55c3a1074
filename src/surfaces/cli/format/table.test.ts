import { expect, test } from "vitest";
import { tableLines, wrapText } from "./table.ts";

test("aligns columns", () => {
  expect(
    tableLines(
      ["A", "B"],
      [
        ["long", "x"],
        ["s", "y"],
      ],
      80,
    ),
  ).toEqual(["A     B", "long  x", "s     y"]);
});

test("wraps the last column under its own start", () => {
  const [, ...lines] = tableLines(["A", "B"], [["rule", "some words that need two lines"]], 30);
  expect(lines).toEqual(["rule  some words that need two", "      lines"]);
});

test("does not wrap where no room is left", () => {
  expect(tableLines(["A", "B"], [["x".repeat(70), "two words and more of them"]], 80)).toHaveLength(2);
});

test("gives a long word a line of its own", () => {
  expect(wrapText("a bbbbbbbb c", 4)).toEqual(["a", "bbbbbbbb", "c"]);
});
