import { describe, expect, test } from "vitest";
import { parseScriptHeader } from "./script-header.ts";

const script = (...lines: string[]) =>
  ["#!/usr/bin/env python3", "# /// script", ...lines, "# ///", "print(1)"].join("\n");

describe("the header of a script", () => {
  test("gives the dependencies and the Python that it asks for", () => {
    const code = script(
      '# requires-python = ">=3.11"',
      "# dependencies = [",
      '#   "requests<3", # the web',
      "#   'rich',",
      "# ]",
      "#",
      "# [tool.uv]",
      '# exclude-newer = "2026-01-01"',
      "# broken = [",
    );
    expect(parseScriptHeader(code)).toEqual({
      requiresPython: ">=3.11",
      requests: [
        { requirement: "requests<3", from: "script header" },
        { requirement: "rich", from: "script header" },
      ],
    });
  });

  test("strings, numbers and tables of TOML before the dependencies are read over", () => {
    const code = script(
      '# "tool".x = { a = 1, b = [true, "}"] } # [',
      "# tool.date = 2026-01-01 10:00:00",
      '# tool.text = """',
      '# dependencies = ["no"]',
      '# \\u0041 """',
      '# dependencies = ["r\\u0065quests"]',
    );
    expect(parseScriptHeader(code)?.requests).toEqual([{ requirement: "requests", from: "script header" }]);
  });

  test.each([
    ["print(1)"],
    ["# /// other\n# x = 1\n# ///"],
    ["# /// script\n# dependencies = ["],
    ["# /// script\nimport x\n# ///"],
    ['x = "# /// script"'],
  ])("%j has none", (code) => {
    expect(parseScriptHeader(code)).toBeUndefined();
  });

  test("a header without dependencies asks for nothing", () => {
    expect(parseScriptHeader(script('# requires-python = ">=3.9"'))).toEqual({ requests: [], requiresPython: ">=3.9" });
    expect(parseScriptHeader("# /// script\r\n# ///\r\n")).toEqual({ requests: [] });
  });

  test.each([
    ['# dependencies = "requests"', "dependencies is not a list"],
    ["# dependencies = [1]", "something that is not a string"],
    ['# dependencies = ["requests"', "expected"],
    ["# dependencies = ['requests]", "a string does not end"],
    ['# dependencies = ["-r x"]', "it is an option"],
    ['# dependencies = []\n# dependencies = ["x"]', "twice"],
    ["# requires-python = 3.11", "requires-python is not a range"],
    ['# requires-python = "3.11"', "requires-python is not a range"],
    ["# what is this", "expected ="],
    ['# dependencies = ["\\x"]', "an escape that does not exist"],
    [`# dependencies = ${"[".repeat(100)}`, "nested too deeply"],
    ['# dependencies = ["a"] "b"', "the end of the line"],
  ])("%s is refused with the reason", (line, why) => {
    expect(() => parseScriptHeader(script(line))).toThrow(
      expect.objectContaining({ code: "usage", message: expect.stringContaining(why) }),
    );
  });

  test("two headers are refused", () => {
    expect(() => parseScriptHeader(`${script()}\n${script()}`)).toThrow("there is more than one");
  });
});
