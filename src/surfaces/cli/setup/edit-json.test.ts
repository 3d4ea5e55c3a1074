import { expect, test } from "vitest";
import { differsOnlyAt, editJson, readJson } from "./edit-json.ts";

test("a member is added behind the others, in their indentation and with their line ends", () => {
  expect(editJson('{\r\n\t"a": 1\r\n}\r\n', ["b"], { c: [1, 2] })).toBe(
    '{\r\n\t"a": 1,\r\n\t"b": {\r\n\t\t"c": [1, 2]\r\n\t}\r\n}\r\n',
  );
  expect(editJson('{"a": {"b": 1}}', ["a", "c"], { d: "x" })).toBe('{"a": {"b": 1, "c": { "d": "x" }}}');
  expect(editJson("{}", ["a", "b"], 1)).toBe('{\n  "a": {\n    "b": 1\n  }\n}');
  expect(editJson("", ["a"], 1)).toBe('{\n  "a": 1\n}\n');
  expect(editJson("\ufeff{}", ["a"], 1)).toBe('\ufeff{\n  "a": 1\n}');
});

test("comments and a comma at the end stay where they are", () => {
  const text = '{\n  // mine\n  "a": 1, /* one */\n  "b": { "c": 2 }, // last\n}\n';
  const more = editJson(text, ["d"], 3);
  expect(more).toContain('"b": { "c": 2 }, // last\n  "d": 3,\n}');
  expect(editJson(more, ["d"], undefined)).toBe(text);
  const bare = '{\n  "a": 1 // one\n}\n';
  expect(editJson(bare, ["b"], 2)).toBe('{\n  "a": 1, // one\n  "b": 2\n}\n');
  expect(editJson("{\n  // nothing yet\n}\n", ["a"], 1)).toBe('{\n  "a": 1\n  // nothing yet\n}\n');
});

test("a new member never lands inside a comment", () => {
  const text = '{\n  "a": 1 /* one\n  two */\n}\n';
  expect(editJson(text, ["b"], 2)).toBe('{\n  "a": 1,\n  "b": 2 /* one\n  two */\n}\n');
  expect(readJson(editJson('{\n"a": 1 /* x */ }', ["b"], 2), [])).toEqual({ a: 1, b: 2 });
});

test("only the value of a member that changes is written anew", () => {
  const text = '{ "a" :\t[1,2 ],   "b":"x" }';
  expect(editJson(text, ["b"], "y")).toBe('{ "a" :\t[1,2 ],   "b":"y" }');
});

test.each([
  ['{\n  "a": 1,\n  "b": 2\n}\n', "a", '{\n  "b": 2\n}\n'],
  ['{\n  "a": 1,\n  "b": 2\n}\n', "b", '{\n  "a": 1\n}\n'],
  ['{\n  "a": 1\n}\n', "a", "{}\n"],
  ['{"a": 1, "b": 2, "c": 3}', "b", '{"a": 1, "c": 3}'],
  ['{"a": 1, "b": 2}', "b", '{"a": 1}'],
  ['{"a": 1, "b": 2}', "a", '{ "b": 2}'],
  ['{"a": "}"}', "a", "{}"],
  ["{}", "a", "{}"],
])("from %j the member %s is removed alone", (text, key, rest) => {
  expect(editJson(text, [key], undefined)).toBe(rest);
});

test.each([
  "{",
  "[",
  '{"a": }',
  '{"a" 1}',
  '{"a": 1 "b": 2}',
  '{"a": 01}',
  "{'a': 1}",
  "{} {}",
  '{"a": "\n"}',
  "{/* }",
  "nul",
])("the text %j is refused", (text) => {
  expect(() => editJson(text, ["x"], 1)).toThrow();
});

test("a name that occurs twice is refused, and so is a path through a value that is no object", () => {
  expect(() => editJson('{"a": 1, "a": 2}', ["a"], 3)).toThrow("occurs twice");
  expect(() => editJson('{"a": []}', ["a", "b"], 3)).toThrow("a is not an object");
  expect(() => editJson("[]", ["a"], 3)).toThrow("it is not an object");
});

test("a thousand brackets are refused, not a stack overflow", () => {
  expect(() => editJson("[".repeat(100_000), ["a"], 1)).toThrow("nested too deeply");
});

test("a value is read with the comments around it", () => {
  expect(readJson('{ "a": { /* x */ "b": [1], }, }', ["a"])).toEqual({ b: [1] });
  expect(readJson("{}", ["a", "b"])).toBeUndefined();
});

test("a member is removed without moving the bracket behind it into the comment before it", () => {
  const text = '{\n  "a": { "x": 1 }, // mine\n  "b": { "y": 2 } }\n';
  expect(readJson(editJson(text, ["b"], undefined), ["a"])).toEqual({ x: 1 });
  const inner = '{ "b": { "x": 1, // mine\n  "url": "z" } }';
  expect(readJson(editJson(inner, ["b", "url"], undefined), ["b"])).toEqual({ x: 1 });
});

test("differsOnlyAt notices a change elsewhere, and allows the object around the place to come and go", () => {
  const at = ["servers", "codecell"];
  const text = '{ "a": [1], "servers": { "codecell": 1, "b": 2 } }';
  expect(differsOnlyAt(text, '{ "a": [1], "servers": { "b": 2, "codecell": { "c": 3 } } }', at)).toBe(true);
  expect(differsOnlyAt("", '{ "servers": { "codecell": 1 } }', at)).toBe(true);
  expect(differsOnlyAt('{ "servers": { "codecell": 1 } }', '{ "servers": {} }', at)).toBe(true);
  expect(differsOnlyAt(text, '{ "a": [1], "servers": { "codecell": 1, "b": 3 } }', at)).toBe(false);
  expect(differsOnlyAt(text, '{ "servers": { "codecell": 1, "b": 2 } }', at)).toBe(false);
});
