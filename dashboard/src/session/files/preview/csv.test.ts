import { expect, test } from "vitest";
import { parseTable } from "./csv.ts";

const rowsOf = (text: string, separator = ",") => parseTable(text, separator).rows;

test.each([
  [
    "a,b\n1,2\n",
    [
      ["a", "b"],
      ["1", "2"],
    ],
  ],
  [
    "a,b\r\n1,2",
    [
      ["a", "b"],
      ["1", "2"],
    ],
  ],
  [
    "a,b\r1,2",
    [
      ["a", "b"],
      ["1", "2"],
    ],
  ],
  ['"a,b","c ""d""","e\nf"\n', [["a,b", 'c "d"', "e\nf"]]],
  ["\uFEFFa\n", [["a"]]],
  ["a,,\n", [["a", "", ""]]],
  ["\n\n", [[""], [""]]],
  ['"never closed,\n1', [["never closed,\n1"]]],
  ['"a"b,c\n', [["ab", "c"]]],
  ["", []],
])("%j is %j", (text, rows) => {
  expect(rowsOf(text)).toEqual(rows);
});

test("tabs separate the columns of TSV", () => {
  expect(rowsOf("a,b\tc\n", "\t")).toEqual([["a,b", "c"]]);
});

test("only so many rows, columns and characters are kept, and the table says so", () => {
  const text = `${"x".repeat(20)},2,3\n1,2,3\n1,2,3\n`;
  const table = parseTable(text, ",", false, { rows: 2, columns: 2, cellCharacters: 5 });
  expect(table).toEqual({
    rows: [
      ["xxxxx…", "2"],
      ["1", "2"],
    ],
    columns: 3,
    hasMoreRows: true,
    hasMoreColumns: true,
  });
});

test("of a file that was cut, the last row is left out unless it is whole", () => {
  expect(parseTable("a,b\n1,2\n3,", ",", true)).toMatchObject({
    rows: [
      ["a", "b"],
      ["1", "2"],
    ],
    hasMoreRows: true,
  });
  expect(parseTable("a,b,c", ",", true).rows).toEqual([["a", "b", "c"]]);
});

test("a table that is whole has no more rows", () => {
  expect(parseTable("a\n1\n", ",")).toMatchObject({ hasMoreRows: false, hasMoreColumns: false });
});
