import { expect, test } from "vitest";
import { prettyJson } from "./pretty-json.ts";

test.each([
  [{ a: [1, 2, { b: null }], c: "x,{[:" }],
  [[]],
  [{}],
  [{ a: {}, b: [] }],
  ['a string with "quotes" and \\'],
  [[["{"], ["["], "ends with ["]],
  [-1.5e10],
])("%j looks as JSON.stringify writes it", (value) => {
  expect(prettyJson(JSON.stringify(value))).toEqual({ text: JSON.stringify(value, null, 2), isCut: false });
});

test("large numbers and keys that appear twice stay as they are", () => {
  const { text } = prettyJson('{"a":12345678901234567890,"a":1.0}') ?? {};
  expect(text).toBe('{\n  "a": 12345678901234567890,\n  "a": 1.0\n}');
});

test("text that is not JSON has no form", () => {
  expect(prettyJson("{'a': 1}")).toBeUndefined();
});

test("many levels and many lines stay small", () => {
  const deep = "[".repeat(3_000) + "]".repeat(3_000);
  expect(prettyJson(deep)?.text.length).toBeLessThan(300_000);
  const long = prettyJson(JSON.stringify(Array.from({ length: 10_000 }, () => 1)), 100);
  expect(long?.isCut).toBe(true);
  expect(long?.text.split("\n")).toHaveLength(100);
});
