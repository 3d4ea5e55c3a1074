import { expect, test } from "vitest";
import { tableLines, wrapText } from "./table.ts";

test("a table aligns its columns", () => {
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

test("a table wraps its last column with a hanging indent", () => {
  const [, ...lines] = tableLines(["A", "B"], [["rule", "some words that need two lines"]], 30);
  expect(lines).toEqual(["rule  some words that need two", "      lines"]);
});

test("a table does not wrap if too little room is left", () => {
  expect(tableLines(["A", "B"], [["x".repeat(70), "two words and more of them"]], 80)).toHaveLength(2);
});

test("a table puts a long word on its own line", () => {
  expect(wrapText("a bbbbbbbb c", 4)).toEqual(["a", "bbbbbbbb", "c"]);
});
