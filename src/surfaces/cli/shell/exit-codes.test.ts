import { expect, test } from "vitest";
import { printedExitCode, runExitCode } from "./exit-codes.ts";

test.each([
  ["ok", 0, 0],
  ["error", 1, 1],
  ["error", 7, 7],
  ["error", undefined, 1],
  ["error", 0, 1],
  ["crashed", undefined, 1],
  ["crashed", 9, 9],
  ["output_limit", undefined, 1],
  ["timeout", undefined, 124],
  ["out_of_memory", undefined, 137],
  ["interrupted", undefined, 130],
  ["cancelled", undefined, 130],
] as const)("a run that ends with %s and code %s exits with %i", (status, exitCode, expected) => {
  expect(runExitCode({ status, exitCode })).toBe(expected);
});

test.each([
  ["ok", true, false, 1],
  ["ok", true, true, 0],
  ["ok", false, false, 0],
  ["timeout", true, false, 124],
] as const)(
  "a run that ends with %s (truncated: %s, on a terminal: %s) exits with %i",
  (status, truncated, isTTY, expected) => {
    expect(printedExitCode({ status, exitCode: 0, truncated }, { isTTY })).toBe(expected);
  },
);
