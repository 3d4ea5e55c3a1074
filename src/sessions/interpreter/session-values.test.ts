import { expect, test } from "vitest";
import { decodeJson } from "./session-values.ts";

test("a value of a cell is decoded from JSON, and text that is not JSON is refused", () => {
  expect(decodeJson(Buffer.from('{"a":[1,{"b":null}]}'))).toEqual({ a: [1, { b: null }] });
  expect(() => decodeJson(Buffer.from("NaN"))).toThrow(expect.objectContaining({ code: "variable_unserializable" }));
});

test.each([
  ["millions of empty arrays", `[${"[],".repeat(2_000_000)}0]`],
  ["deep nesting", "[".repeat(2_000)],
  ["a key twice", '{"a":1,"a":2}'],
])("a value of a cell with %s is refused before it is parsed", (_what, text) => {
  expect(() => decodeJson(Buffer.from(text))).toThrow(expect.objectContaining({ code: "too_large" }));
});

test.each([
  ["9007199254740993", "9007199254740993"],
  ['{"ids":[12345678901234567890]}', "12345678901234567890"],
])("an integer of a cell that JavaScript would round is refused: %s", (json, integer) => {
  expect(() => decodeJson(Buffer.from(json))).toThrow(
    expect.objectContaining({
      code: "variable_unserializable",
      message: `the value has the integer ${integer}, which JavaScript would round`,
      hint: "read it as text: str(x) in Python",
    }),
  );
});
