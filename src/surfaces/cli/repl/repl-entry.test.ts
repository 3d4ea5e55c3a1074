import { expect, test } from "vitest";
import { readEntry } from "./repl-entry.ts";

test.each([
  [["x = 1"], { kind: "python", code: "x = 1" }],
  [["def f():"], { kind: "more" }],
  [["def f():", "  pass", ""], { kind: "python", code: "def f():\n  pass\n" }],
  [["!ls -l"], { kind: "bash", code: "ls -l" }],
  [["!echo a \\"], { kind: "more" }],
  [["!echo a \\", "b"], { kind: "bash", code: "echo a \\\nb" }],
  [["%vars"], { kind: "vars" }],
  [["%vrs"], { kind: "unknown", message: "there is no %vrs; did you mean %vars?" }],
  [["exit()"], { kind: "exit" }],
  [["  "], { kind: "nothing" }],
  [[], { kind: "nothing" }],
])("reads %j", (lines, entry) => {
  expect(readEntry(lines)).toEqual(entry);
});

test("runs what is there when no more lines come", () => {
  expect(readEntry(["def f():", "  pass"], true)).toEqual({ kind: "python", code: "def f():\n  pass" });
});
