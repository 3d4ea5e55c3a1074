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
])("the repl runs %j at once", (text) => {
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
])("the repl waits for more lines after %j", (text) => {
  expect(needsMoreLines(typed(text))).toBe(true);
});

test("the repl ends a block at an empty line", () => {
  expect(needsMoreLines(typed("def f():\n  return 1"))).toBe(true);
  expect(needsMoreLines(typed("def f():\n  return 1\n"))).toBe(false);
});

test("the repl does not end a block at an empty line inside brackets or triple-quoted strings", () => {
  expect(needsMoreLines(typed("x = [\n"))).toBe(true);
  expect(needsMoreLines(typed("'''\n"))).toBe(true);
});

test("a pasted block is complete with its last line, and goes on after empty lines", () => {
  const isOpen = (text: string) => needsMoreLines(typed(text), true);
  expect(isOpen("def f():\n  x = 1\n\n  return x")).toBe(false);
  expect(isOpen("x = 1\n\nfor i in x:")).toBe(true);
  expect(isOpen("x = 1\n@cached")).toBe(true);
  expect(isOpen("x = [\n\n")).toBe(true);
  expect(isOpen("for i in x:\n")).toBe(false);
});

test("the repl does not open a block at a colon inside brackets", () => {
  expect(needsMoreLines(typed("x = {'a':\n1}"))).toBe(false);
});

test("the repl runs code with closed brackets without an empty line", () => {
  expect(needsMoreLines(typed("x = [1,\n2]"))).toBe(false);
});
