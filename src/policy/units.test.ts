import { describe, expect, test } from "vitest";
import { formatDuration, formatSize } from "./format-units.ts";
import { duration, size, suggestDuration, suggestSize } from "./units.ts";

describe("unit conversion", () => {
  test.each([
    ["2GiB", 2 * 2 ** 30],
    ["512MiB", 512 * 2 ** 20],
    ["100KB", 100_000],
    ["1.5MB", 1_500_000],
    ["1 KiB", 1024],
    ["7B", 7],
  ])("reads the size %s", (text, bytes) => expect(size().parse(text)).toBe(bytes));

  test.each([
    ["30s", 30_000],
    ["1.5m", 90_000],
    ["250ms", 250],
    ["1h", 3_600_000],
  ])("reads the duration %s", (text, ms) => expect(duration().parse(text)).toBe(ms));

  test.each(["2gb", "2", "", "-1GiB", "0MiB", "1e3MB", "2GiB ", "9999999999999GiB", "1toString", 30, null])(
    "refuses %j as a size",
    (written) => expect(size().safeParse(written).success).toBe(false),
  );

  test.each(["30", "30S", "1d", "-5s", "0s", "∞s"])("refuses %j as a duration", (written) => {
    expect(duration().safeParse(written).success).toBe(false);
  });

  test("prints any number so that it parses back to the same one", () => {
    const factors = [1, 999, 1000, 1023, 1024, 1e6, 2 ** 20, 1e9, 2 ** 30, 60_000, 3_600_000];
    for (const factor of factors) {
      for (let count = 1; count < 200; count++) {
        expect(size().parse(formatSize(factor * count))).toBe(factor * count);
        expect(duration().parse(formatDuration(factor * count))).toBe(factor * count);
      }
    }
  });

  test("prints the largest unit that is exact", () => {
    expect(formatSize(536_870_912)).toBe("512MiB");
    expect(formatSize(2_000_000_000)).toBe("2GB");
    expect(formatSize(1025)).toBe("1025B");
    expect(formatDuration(90_000)).toBe("90s");
    expect(formatDuration(1)).toBe("1ms");
  });

  test("suggests the unit that was probably meant", () => {
    expect(suggestSize("2gb")).toBe("2GB");
    expect(suggestSize("4G")).toBe("4GiB");
    expect(suggestSize(512)).toBe("512MiB");
    expect(suggestDuration(30)).toBe("30s");
    expect(suggestDuration("5 minutes")).toBe("5m");
    expect(suggestDuration("soon")).toBeUndefined();
    expect(suggestSize("1 constructor")).toBeUndefined();
    expect(suggestSize({})).toBeUndefined();
  });
});
