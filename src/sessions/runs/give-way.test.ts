import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { GiveWay } from "./give-way.ts";

let applied: boolean[];
let cell: GiveWay;
beforeEach(() => {
  vi.useFakeTimers();
  applied = [];
  cell = new GiveWay((givesWay) => applied.push(givesWay));
});
afterEach(() => vi.useRealTimers());

test("a cell gives way after a quarter of a second of a run, until its next run starts", () => {
  cell.runStarts();
  vi.advanceTimersByTime(249);
  expect(applied).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(applied).toEqual([true]);
  cell.runEnds(false);
  vi.advanceTimersByTime(10_000);
  expect(applied).toEqual([true]);
  cell.runStarts();
  expect(applied).toEqual([true, false]);
});

test("a cell with many short runs never gives way", () => {
  for (let run = 0; run < 100; run++) {
    cell.runStarts();
    vi.advanceTimersByTime(100);
    cell.runEnds(false);
  }
  expect(applied).toEqual([]);
});

test("a long run counts from its own start, not from that of a short run before it", () => {
  cell.runStarts();
  vi.advanceTimersByTime(200);
  cell.runEnds(false);
  cell.runStarts();
  vi.advanceTimersByTime(249);
  expect(applied).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(applied).toEqual([true]);
});

test("a cell gives way as long as one of its forks computes", () => {
  cell.runStarts();
  vi.advanceTimersByTime(300);
  cell.runStarts();
  cell.runEnds(false);
  expect(applied).toEqual([true]);
});

test("a cell gives way for five seconds after a run that crashed or met a limit, however often it tries again", () => {
  for (let run = 0; run < 3; run++) {
    cell.runStarts();
    cell.runEnds(true);
    vi.advanceTimersByTime(1_000);
  }
  expect(applied).toEqual([true]);
  vi.advanceTimersByTime(4_000);
  cell.runStarts();
  expect(applied).toEqual([true, false]);
});
