import { expect, test } from "vitest";
import { formatBytes, formatCount, formatDuration, plural, relativeTime } from "./format.ts";

test.each([
  [0, "0 B"],
  [1023, "1023 B"],
  [1024, "1 KiB"],
  [1536, "1.5 KiB"],
  [20 * 1024 ** 2, "20 MiB"],
  [1024 ** 2 - 1, "1 MiB"],
  [1024 ** 6, "1024 PiB"],
  [-1, "unknown"],
  [Number.NaN, "unknown"],
])("%d bytes are %s", (bytes, shown) => {
  expect(formatBytes(bytes)).toBe(shown);
});

test.each([
  [0, "0 ms"],
  [999.4, "999 ms"],
  [1_200, "1.2 s"],
  [59_400, "59 s"],
  [60_000, "1 min"],
  [125_000, "2 min 5 s"],
  [12_000_000, "3 h 20 min"],
  [90_000_000, "1 d 1 h"],
  [-1, "unknown"],
])("%d ms are %s", (ms, shown) => {
  expect(formatDuration(ms)).toBe(shown);
});

test("counts have groups, and words their number", () => {
  expect(formatCount(12_345)).toBe("12,345");
  expect(plural(1, "file")).toBe("1 file");
  expect(plural(1_000, "entry", "entries")).toBe("1,000 entries");
});

const now = Date.parse("2026-11-17T12:00:00Z");
test.each([
  ["2026-11-17T11:59:58Z", "just now"],
  ["2026-11-17T11:59:10Z", "50 s ago"],
  ["2026-11-17T10:30:00Z", "1 h ago"],
  ["2026-11-15T10:30:00Z", "2 d ago"],
  ["2026-11-17T12:05:00Z", "in 5 min"],
  ["2020-01-01T00:00:00Z", "2020-01-01"],
  ["nonsense", "unknown"],
])("%s is %s", (iso, shown) => {
  expect(relativeTime(iso, now)).toBe(shown);
});
