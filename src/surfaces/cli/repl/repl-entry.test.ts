import { expect, test } from "vitest";
import { readEntry } from "./repl-entry.ts";

test.each([
  [["x = 1"], { kind: "code", language: "python", code: "x = 1" }],
  [["def f():"], { kind: "more" }],
  [["def f():", "  pass", ""], { kind: "code", language: "python", code: "def f():\n  pass\n" }],
  [["!ls -l"], { kind: "code", language: "bash", code: "ls -l" }],
  [["!echo a \\"], { kind: "more" }],
  [["!echo a \\", "b"], { kind: "code", language: "bash", code: "echo a \\\nb" }],
  [["%vars"], { kind: "vars" }],
  [["%vrs"], { kind: "unknown", message: "unknown command %vrs; did you mean %vars?" }],
  [["exit()"], { kind: "exit" }],
  [["  "], { kind: "nothing" }],
  [[], { kind: "nothing" }],
])("the repl reads the lines %j", (lines, entry) => {
  expect(readEntry(lines)).toEqual(entry);
});

test("the repl runs an unfinished block at the end of the input", () => {
  expect(readEntry(["def f():", "  pass"], true)).toEqual({
    kind: "code",
    language: "python",
    code: "def f():\n  pass",
  });
});
