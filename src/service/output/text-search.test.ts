import { describe, expect, test } from "vitest";
import { cpuMsOf } from "../../../test/support/cpu-time.ts";
import { searchText } from "./text-search.ts";

const log = "start\nwarning: disk\nstep 1\nERROR: no such file\nstep 2\nwarning: memory\nend";
const lines = (pattern: string, more: object = {}) =>
  searchText(log, { pattern, ...more }).matches.map((one) => one.line);

describe("searchText", () => {
  test("returns lines with their position and context", () => {
    expect(searchText(log, { pattern: "no such", contextLines: 1 })).toEqual({
      matches: [
        { line: 3, offset: log.indexOf("no such"), text: "ERROR: no such file", before: ["step 1"], after: ["step 2"] },
      ],
      total: 1,
    });
  });

  test("returns less context at the ends of the text", () => {
    expect(searchText(log, { pattern: "start", contextLines: 2 }).matches[0]).toMatchObject({
      before: [],
      after: ["warning: disk", "step 1"],
    });
    expect(searchText("\nend", { pattern: "end", contextLines: 2 }).matches[0]).toMatchObject({
      before: [""],
      after: [],
    });
  });

  test("treats the pattern as plain text unless wildcards is set", () => {
    expect(searchText("a*b\naxb", { pattern: "a*b" }).total).toBe(1);
    expect(searchText("a*b\naxb\nb a", { pattern: "a*b", wildcards: true }).total).toBe(2);
    expect(searchText("a*b\naxb", { pattern: "a\\*b", wildcards: true }).total).toBe(1);
    expect(lines(".*")).toEqual([]);
    expect(lines("*", { wildcards: true })).toHaveLength(7);
    expect(lines("*warn*mem*", { wildcards: true })).toEqual([5]);
  });

  test("is case-sensitive unless ignoreCase is set", () => {
    expect(lines("error")).toEqual([]);
    expect(lines("error", { ignoreCase: true })).toEqual([3]);
  });

  test("counts every match and returns the first ones", () => {
    expect(searchText("x\n".repeat(300), { pattern: "x", maxMatches: 2 })).toMatchObject({
      matches: [{ line: 0 }, { line: 1 }],
      total: 300,
    });
  });

  test("returns the part of a long line around the match without splitting a character", () => {
    const [match] = searchText(`${"👍".repeat(5_000)}needle${"👍".repeat(5_000)}`, { pattern: "needle" }).matches;
    expect(match?.text).toMatch(/^….*needle.*…$/u);
    expect(match?.text.length).toBeLessThan(510);
    expect(match?.text).not.toMatch(/[\ud800-\udfff]/u);
  });

  test("limits the size of its result, whatever is requested", () => {
    const text = `${"x".repeat(400)}\n`.repeat(5_000);
    const { matches, total } = searchText(text, { pattern: "x", contextLines: 10 ** 9, maxMatches: 10 ** 9 });
    expect(JSON.stringify(matches).length).toBeLessThan(130_000);
    expect(total).toBe(5_000);
  });

  test.each(["", "two\nlines", "x".repeat(201)])("rejects the pattern %j", (pattern) => {
    expect(() => searchText(log, { pattern })).toThrow(expect.objectContaining({ code: "usage" }));
  });

  test("does not block the thread for a hostile pattern and text", async () => {
    const spentMs = await cpuMsOf(() => {
      searchText("a".repeat(4_000_000), { pattern: `${"a*".repeat(99)}b`, wildcards: true });
      searchText("a".repeat(4_000_000), { pattern: `b${"a".repeat(199)}` });
      searchText("a".repeat(4_000_000), { pattern: `${"a".repeat(199)}b` });
    });
    expect(spentMs).toBeLessThan(5_000);
  });
});
