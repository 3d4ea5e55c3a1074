import { expect, test } from "vitest";
import { needsMoreLines } from "./python-block.ts";

const typed = (text: string) => text.split("\n");

test.each([
  "1 + 1",
  "x = {}",
  "print('a:b')",
  "x = 1  # a comment:",
  "'('",
  "# if x:",
  "s = '''a'''",
  "x[1:2]",
  "'\\\\'",
])("runs %j at once", (text) => {
  expect(needsMoreLines(typed(text))).toBe(false);
});

test.each([
  "def f():",
  "if x:  # why",
  "print(1,",
  "x = [",
  "x = 1 + \\",
  "'''text",
  '"""text\nmore',
  "@cached",
  "f(')'",
])("waits for more after %j", (text) => {
  expect(needsMoreLines(typed(text))).toBe(true);
});

test("ends a block with an empty line", () => {
  expect(needsMoreLines(typed("def f():\n  return 1"))).toBe(true);
  expect(needsMoreLines(typed("def f():\n  return 1\n"))).toBe(false);
});

test("keeps an empty line inside brackets and long strings", () => {
  expect(needsMoreLines(typed("x = [\n"))).toBe(true);
  expect(needsMoreLines(typed("'''\n"))).toBe(true);
});

test("a colon inside brackets does not open a block", () => {
  expect(needsMoreLines(typed("x = {'a':\n1}"))).toBe(false);
});

test("closes brackets without an empty line", () => {
  expect(needsMoreLines(typed("x = [1,\n2]"))).toBe(false);
});
