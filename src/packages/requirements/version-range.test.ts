import { describe, expect, test } from "vitest";
import { isPinned, mentionsPrerelease, parseRange, rangeContains } from "./version-range.ts";

const contains = (range: string, version: string) => {
  const parsed = parseRange(range);
  return parsed === undefined ? undefined : rangeContains(parsed, version);
};

describe("a range of versions", () => {
  test.each([
    ["", "1.0"],
    [">=1.2,<2", "1.9.9"],
    ["==1.0", "1"],
    ["==1.0.*", "1"],
    ["==1.0.*", "1.0.post3"],
    ["==1.0", "1.0+local"],
    ["==1.0+local", "1.0+local"],
    ["~=1.4.2", "1.4.9"],
    ["~=2.2.post3", "2.3"],
    ["!=1.5.*", "1.6"],
    ["<2.0rc2", "2.0rc1"],
    [">1.7", "1.7.1"],
    ["===1.0+weird", "1.0+WEIRD"],
    [">=1!1", "1!1.0"],
    [">= 1 , < 2 ,", "1"],
  ])("%j contains %s", (range, version) => {
    expect(contains(range, version)).toBe(true);
  });

  test.each([
    [">=1.2,<2", "2.0"],
    ["<2.0", "2.0rc1"],
    [">1.7", "1.7.post1"],
    [">1.7", "1.7+local"],
    ["==1.0+local", "1.0+other"],
    ["==1.0+local", "1.0"],
    ["==1.1.*", "1.10"],
    ["~=1.4.2", "1.5"],
    ["~=1.4.2", "1.4.1"],
    ["!=1.5.*", "1.5.3"],
    [">=1", "1!0.5x"],
  ])("%j does not contain %s", (range, version) => {
    expect(contains(range, version)).toBe(false);
  });

  test.each([
    "1.0",
    "=1",
    "==",
    ">=1.*",
    "~=1",
    ">1+local",
    "==1.0rc1.*",
    "==x",
    "==1 2",
    "==1;",
    `==${"1".repeat(200)}`,
  ])("%j is not one", (range) => {
    expect(parseRange(range)).toBeUndefined();
  });

  test("numbers that are too long to compare are no versions", () => {
    expect(contains(">=1", "9".repeat(20))).toBe(false);
    expect(parseRange(`==${"9".repeat(20)}`)).toBeUndefined();
  });

  test("says whether it is pinned, and whether it names a pre-release", () => {
    const parsed = (range: string) => parseRange(range) ?? { text: "", clauses: [] };
    expect(["==1.0", "===x", ">=1,==1.2"].map((range) => isPinned(parsed(range)))).toEqual([true, true, true]);
    expect(["==1.*", ">=1", "", "!=1"].map((range) => isPinned(parsed(range)))).toEqual([false, false, false, false]);
    expect([">=1rc1", "==1.dev0", ">=1", "!=1rc1"].map((range) => mentionsPrerelease(parsed(range)))).toEqual([
      ...[true, true, false, false],
    ]);
  });
});
