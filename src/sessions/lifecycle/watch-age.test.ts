import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { watchAge } from "./watch-age.ts";

const limits = { idleMs: 60_000, lifetimeMs: 600_000 };
const session = { usedAt: 0, isBusy: false };
let told: string[];
beforeEach(() => {
  vi.useFakeTimers({ now: 0 });
  Object.assign(session, { usedAt: performance.now(), isBusy: false });
  told = [];
});
afterEach(() => vi.useRealTimers());
const watch = () => watchAge(session, limits, (why) => told.push(why));

test("an idle session expires when its idle time is over, and not before", () => {
  watch();
  vi.advanceTimersByTime(59_999);
  expect(told).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(told).toEqual(["it was idle for session.idle (1m)"]);
});

test("a session that was used meanwhile or is busy gets its remaining idle time", () => {
  watch();
  session.usedAt += 30_000;
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
  session.usedAt += 30_000;
  vi.advanceTimersByTime(60_000);
  age.stop();
  vi.advanceTimersByTime(3_600_000);
  expect(told).toEqual([]);
});

test.each([-400, -1, 1, 400])("the idle time of a session does not change when the clock jumps by %s days", (days) => {
  watch();
  vi.setSystemTime(days * 86_400_000);
  vi.advanceTimersByTime(59_999);
  expect(told).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(told).toEqual(["it was idle for session.idle (1m)"]);
});
