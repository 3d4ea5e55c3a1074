import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { noticeHeldOutput } from "./held-output.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const mebibyte = 2 ** 20;

test("a line says how much output is held back within two seconds, and again every minute while it grows", () => {
  const log = { heldBytes: 0 };
  const notices: string[] = [];
  using _ = noticeHeldOutput(log, (notice) => notices.push(notice));
  vi.advanceTimersByTime(10_000);
  expect(notices).toEqual([]);
  log.heldBytes = 3 * mebibyte;
  vi.advanceTimersByTime(2_000);
  expect(notices).toEqual([
    "the program printed more than the output limit; 3 MiB are held back so far, and the last part is printed when it ends; " +
      "raise the limit with --output-limit",
  ]);
  log.heldBytes = 5 * mebibyte;
  vi.advanceTimersByTime(50_000);
  expect(notices).toHaveLength(1);
  vi.advanceTimersByTime(11_000);
  expect(notices).toHaveLength(2);
  expect(notices[1]).toContain("5 MiB are held back");
  vi.advanceTimersByTime(600_000);
  expect(notices).toHaveLength(2);
});

test("no line about held output appears for a run that ends within a second", () => {
  const log = { heldBytes: 0 };
  const notices: string[] = [];
  {
    using _ = noticeHeldOutput(log, (notice) => notices.push(notice));
    log.heldBytes = mebibyte;
    vi.advanceTimersByTime(1_000);
  }
  vi.advanceTimersByTime(10_000);
  expect(notices).toEqual([]);
});
