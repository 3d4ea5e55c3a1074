import { describe, expect, test } from "vitest";
import { compareOutcomes, parseOutcomes } from "./compare.ts";
import type { Difference } from "./differences.ts";

const outcomes = (tests: Record<string, [string, string]>) =>
  parseOutcomes(JSON.stringify({ module: "test_x", tests }));
const listed: Difference[] = [{ topic: "x", tests: ["test_x.A*.test_one"], in: ["process"], because: "a reason" }];

describe("the comparison of a cell with the bare machine", () => {
  const bare = outcomes({ "test.test_x.AB.test_one": ["ok", ""], "test.test_x.AB.test_two": ["ok", ""] });

  test("reports a test that fails, is skipped or is missing in the cell only", () => {
    const failed = outcomes({ "test.test_x.AB.test_one": ["failed", "OSError"] });
    expect(compareOutcomes(bare, failed, []).unexpected).toEqual([
      { test: "test_x.AB.test_one", inCell: "failed: OSError" },
      { test: "test_x.AB.test_two", inCell: "missing" },
    ]);
    const skipped = outcomes({ "test.test_x.AB.test_one": ["skipped", "no"], "test.test_x.AB.test_two": ["ok", ""] });
    expect(compareOutcomes(bare, skipped, []).unexpected).toEqual([
      { test: "test_x.AB.test_one", inCell: "skipped: no" },
    ]);
  });

  test("accepts a difference that a pattern of the list matches", () => {
    const cell = outcomes({ "test.test_x.AB.test_one": ["failed", ""], "test.test_x.AB.test_two": ["ok", ""] });
    expect(compareOutcomes(bare, cell, listed)).toEqual({ unexpected: [], stale: [] });
  });

  test("reports a listed difference that no longer occurs", () => {
    expect(compareOutcomes(bare, bare, listed)).toEqual({ unexpected: [], stale: ["test_x.A*.test_one"] });
  });

  test("says nothing about a test that does not pass on the bare machine", () => {
    const broken = outcomes({ "test.test_x.AB.test_one": ["failed", ""], "test.test_x.AB.test_two": ["skipped", ""] });
    expect(compareOutcomes(broken, bare, listed)).toEqual({ unexpected: [], stale: [] });
    expect(compareOutcomes(broken, broken, listed)).toEqual({ unexpected: [], stale: [] });
  });
});
