import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { watchAge } from "./watch-age.ts";

const limits = { idleMs: 60_000, lifetimeMs: 600_000 };
const session = { usedMs: 0, isBusy: false };
let told: string[];
beforeEach(() => {
  vi.useFakeTimers({ now: 0 });
  Object.assign(session, { usedMs: 0, isBusy: false });
  told = [];
});
afterEach(() => vi.useRealTimers());
const watch = () => watchAge(session, limits, Date.now, (why) => told.push(why));

test("an idle session expires when its idle time is over, and not before", () => {
  watch();
  vi.advanceTimersByTime(59_999);
  expect(told).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(told).toEqual(["it was idle for session.idle (1m)"]);
});

test("a session that was used meanwhile or is busy gets its remaining idle time", () => {
  watch();
  session.usedMs = 30_000;
  vi.advanceTimersByTime(89_000);
  session.isBusy = true;
  vi.advanceTimersByTime(11_000);
  expect(told).toEqual([]);
  session.isBusy = false;
  vi.advanceTimersByTime(100);
  expect(told).toHaveLength(1);
});

test("a session that is always in use expires at the end of its lifetime", () => {
  watch();
  session.isBusy = true;
  vi.advanceTimersByTime(600_000);
  expect(told).toEqual(["it reached session.lifetime (10m)"]);
});

test("a stopped watch reports nothing, even if it had been rescheduled", () => {
  const age = watch();
  session.usedMs = 30_000;
  vi.advanceTimersByTime(60_000);
  age.stop();
  vi.advanceTimersByTime(3_600_000);
  expect(told).toEqual([]);
});
