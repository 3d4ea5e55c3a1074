import { expect, test } from "vitest";
import { readEntry } from "./repl-entry.ts";

test.each([
  [["x = 1"], { kind: "code", language: "python", code: "x = 1" }],
  [["def f():"], { kind: "more" }],
  [["def f():", "  pass", ""], { kind: "code", language: "python", code: "def f():\n  pass\n" }],
  [["    x = 1"], { kind: "code", language: "python", code: "x = 1" }],
  [["!ls -l"], { kind: "code", language: "bash", code: "ls -l" }],
  [["!echo a \\"], { kind: "more" }],
  [["!echo a \\", "b"], { kind: "code", language: "bash", code: "echo a \\\nb" }],
  [["%vars"], { kind: "vars" }],
  [["%whos"], { kind: "vars" }],
  [["%who"], { kind: "who" }],
  [["%who x"], { kind: "unknown", message: "%who takes no arguments" }],
  [["%history"], { kind: "history", limit: 1000 }],
  [["%history 20"], { kind: "history", limit: 20 }],
  [["%history -n"], { kind: "unknown", message: "%history takes the number of entries to show, such as %history 20" }],
  [["%timeit -n 3 f(x)"], { kind: "code", language: "python", code: "%timeit -n 3 f(x)" }],
  [["x?"], { kind: "inspect", name: "x", withSource: false }],
  [["a.b.c??"], { kind: "inspect", name: "a.b.c", withSource: true }],
  [["?x"], { kind: "inspect", name: "x", withSource: false }],
  [["?"], { kind: "help" }],
  [["# why?"], { kind: "code", language: "python", code: "# why?" }],
  [["files = !ls -l"], { kind: "capture", name: "files", language: "bash", code: "ls -l" }],
  [["x = !a \\"], { kind: "more" }],
  [["x != 1"], { kind: "code", language: "python", code: "x != 1" }],
  [["%vrs"], { kind: "unknown", message: "unknown command %vrs; did you mean %vars?" }],
  [["exit()"], { kind: "exit" }],
  [["  "], { kind: "nothing" }],
  [[], { kind: "nothing" }],
])("the repl reads the lines %j", (lines, entry) => {
  expect(readEntry(lines)).toEqual(entry);
});

test("the repl runs an unfinished block at the end of the input", () => {
  expect(readEntry(["def f():", "  pass"], { atEnd: true })).toEqual({
    kind: "code",
    language: "python",
    code: "def f():\n  pass",
  });
});

test("pip install is code where the policy lets programs install, and is explained elsewhere", () => {
  for (const line of ["%pip install humanize", "!pip install humanize", "!python -m pip install humanize"])
    expect(readEntry([line], { mayInstall: true })).toEqual({ kind: "code", language: "python", code: line });
  expect(readEntry(["%pip install humanize"])).toMatchObject({ kind: "unknown" });
  expect(readEntry(["!pip list"], { mayInstall: true })).toMatchObject({ language: "bash" });
});
