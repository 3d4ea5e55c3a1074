import { describe, expect, test } from "vitest";
import { inexactInteger } from "./inexact-integer.ts";

describe("inexactInteger", () => {
  test.each(["9007199254740993", "-9223372036854775808", "12345678901234567890"])("finds %s", (integer) => {
    expect(inexactInteger(JSON.stringify({ a: ['"', "\\"], b: 1.5 }).replace("1.5", integer))).toBe(integer);
  });

  test.each([
    "9007199254740991",
    "0.12345678901234567",
    "12345678901234567.5",
    "1e300",
    '"12345678901234567890"',
    String.raw`"\\\"12345678901234567890"`,
    '{"12345678901234567890": 1}',
    "",
  ])("accepts %s", (json) => {
    expect(inexactInteger(json)).toBeUndefined();
  });
});
