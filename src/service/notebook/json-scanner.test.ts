import { describe, expect, test } from "vitest";
import { checkEnd, JsonProblem, jsonItems, jsonMembers, scanJson } from "./json-scanner.ts";

const problemOf = (text: string): { at: number; message: string } | undefined => {
  try {
    checkEnd(text, scanJson(text));
    return undefined;
  } catch (error) {
    if (error instanceof JsonProblem) return { at: error.at, message: error.message };
    throw error;
  }
};

describe("scanJson", () => {
  const texts = [
    ...["1", "-0.5e+10", '"a\\u00e9\\n"', "true", "null", "[]", "{}", ' {"a" : [1, {"b": []}], "c": ""} \n'],
    ...["01", "+1", "1.", "tru", "[1,]", "[1 2]", '{"a"}', '{"a":}', "{a: 1}", '{"a": 1,}', "'a'", '"\\x"', '"\\u12"'],
    ...['"a\nb"', "[", "{", '"abc', '{"a"', "[1,", "", " ", "[1]]", "1 2", "\ufeff1", "NaN", "[1}", "-"],
  ];
  test.each(texts)("agrees with JSON.parse about %j", (text) => {
    const isValid = () => {
      try {
        JSON.parse(text);
        return true;
      } catch {
        return false;
      }
    };
    expect(problemOf(text) === undefined).toBe(isValid());
  });

  test("says where a text is wrong", () => {
    expect(problemOf('{"a": 1 "b": 2}')).toEqual({ at: 8, message: '"," or "}" is expected here' });
  });

  test("says that a text which ends early is truncated", () => {
    expect(problemOf('{"a": "b')?.message).toMatch(/truncated/);
    expect(problemOf('{"a": [1, ')?.message).toMatch(/truncated/);
  });

  test("refuses a text that is nested too deeply, without overflowing the stack", () => {
    expect(problemOf("[".repeat(1_000_000))).toMatchObject({ at: 200, message: expect.stringMatching(/nested/) });
    expect(problemOf(`${"[".repeat(200)}${"]".repeat(200)}`)).toBeUndefined();
  });

  test("takes a string of many megabytes", () => {
    const text = `["${"x".repeat(8 * 1024 * 1024)}"]`;
    expect(scanJson(text)).toEqual({ start: 0, end: text.length });
  });
});

test("the members and items of a value are found with their places", () => {
  const text = ' { "a\\u0062" : [ 1 , "x" ] , "c":{} } ';
  const whole = scanJson(text);
  const members = jsonMembers(text, whole) ?? [];
  expect(members.map(({ name, value }) => [name, text.slice(value.start, value.end)])).toEqual([
    ["ab", '[ 1 , "x" ]'],
    ["c", "{}"],
  ]);
  const items = jsonItems(text, members[0]?.value ?? whole) ?? [];
  expect(items.map(({ start, end }) => text.slice(start, end))).toEqual(["1", '"x"']);
  expect(jsonItems(text, whole)).toBeUndefined();
});
