import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { OverdueWatch } from "./overdue-watch.ts";

describe("The watch over runs", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  const runFor = (ms: number) => {
    const run = { at: performance.now() + ms, isOverdue: false };
    return Object.assign(run, {
      dueAt: () => run.at,
      onOverdue: () => {
        run.isOverdue = true;
      },
    });
  };

  it("calls back when a run is overdue, and not before", () => {
    const watch = new OverdueWatch();
    const run = runFor(1_000);
    watch.begin(run);
    vi.advanceTimersByTime(999);
    expect(run.isOverdue).toBe(false);
    vi.advanceTimersByTime(2);
    expect(run.isOverdue).toBe(true);
  });

  it("does not call back for a run that has ended, and gives the next one its whole time", () => {
    const watch = new OverdueWatch();
    const [first, second] = [runFor(1_000), runFor(1_900)];
    watch.begin(first);
    vi.advanceTimersByTime(900);
    watch.end();
    watch.begin(second);
    vi.advanceTimersByTime(999);
    expect([first.isOverdue, second.isOverdue]).toEqual([false, false]);
    vi.advanceTimersByTime(2);
    expect([first.isOverdue, second.isOverdue]).toEqual([false, true]);
  });

  it("calls back in time for a run that is due before an earlier one was", () => {
    const watch = new OverdueWatch();
    watch.begin(runFor(10_000));
    watch.end();
    const short = runFor(100);
    watch.begin(short);
    vi.advanceTimersByTime(101);
    expect(short.isOverdue).toBe(true);
  });

  it("waits longer for a run whose time stood still", () => {
    const watch = new OverdueWatch();
    const run = runFor(1_000);
    watch.begin(run);
    run.at += 500;
    vi.advanceTimersByTime(1_400);
    expect(run.isOverdue).toBe(false);
    vi.advanceTimersByTime(101);
    expect(run.isOverdue).toBe(true);
  });
});
