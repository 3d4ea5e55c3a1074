import { describe, expect, onTestFinished, test, vi } from "vitest";
import { JsonRefused, parseJson } from "./parse-json.ts";

const limits = { depth: 3, keys: 4, values: 5, containers: 4 };

describe("JSON from outside", () => {
  test.each([
    '{"a":1,"b":{"a":2,"c":[1,2]}}',
    '[{"a":1},{"a":2}]',
    '{"a":"\\"b\\":1,{[","b":"\\\\"}',
    '{"a":["a","a"]}',
    ' "a" ',
    "[]",
  ])("is parsed as JSON.parse does: %s", (text) => expect(parseJson(text, limits)).toEqual(JSON.parse(text)));

  test.each([
    ['{"a":1,"a":2}', /key "a" twice/],
    ['{"a":1,"\\u0061":2}', /key "a" twice/],
    ['{"x":[],"y":{"a":1, "a" :2}}', /key "a" twice/],
    ["[[[[]]]]", /more than 3 levels/],
    ['[{"a":1,"b":1,"c":1},{"d":1,"e":1}]', /more than 4 keys/],
    ["[1,2,3,4,5,6,7]", /more than 5 values/],
    ["[[[],[]],[]]", /more than 4 arrays and objects/],
  ])("is refused: %s", (text, message) => expect(() => parseJson(text, limits)).toThrow(message));

  test.each(["{", "[1,", '{"a"', '"', '"\\', "{]", "a", "", '{"a":1}}'])(
    "that is invalid is a syntax error: %j",
    (text) => expect(() => parseJson(text, limits)).toThrow(SyntaxError),
  );

  test.each([
    ["13 MiB of open brackets", "[".repeat(13 * 2 ** 20)],
    ["a million keys", `{${Array.from({ length: 1_000_000 }, (_, index) => `"k${index}":1`).join(",")}}`],
    ["a million empty arrays", `[${"[],".repeat(1_000_000)}0]`],
  ])("of %s is refused before the parser sees it, which would take seconds", (_what, text) => {
    const parser = vi.spyOn(JSON, "parse");
    onTestFinished(() => parser.mockRestore());
    expect(() => parseJson(text)).toThrow(JsonRefused);
    expect(parser).not.toHaveBeenCalled();
  });
});
