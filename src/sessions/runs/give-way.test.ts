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

function run(ms: number, isHarmful = false): void {
  cell.runStarts();
  vi.advanceTimersByTime(ms);
  cell.runEnds(isHarmful);
}

test("a cell gives way after a quarter of a second of a run, until a run starts after some rest", () => {
  cell.runStarts();
  vi.advanceTimersByTime(250);
  expect(applied).toEqual([]);
  vi.advanceTimersByTime(2);
  expect(applied).toEqual([true]);
  cell.runEnds(false);
  vi.advanceTimersByTime(10_000);
  expect(applied).toEqual([true]); // threads of the run may go on computing
  cell.runStarts();
  expect(applied).toEqual([true, false]);
});

test("a cell whose short runs leave it half of the time never gives way", () => {
  for (let count = 0; count < 100; count++) {
    run(100);
    vi.advanceTimersByTime(200);
  }
  expect(applied).toEqual([]);
});

test("a cell whose short runs follow each other closely gives way", () => {
  for (let count = 0; count < 10; count++) {
    run(100);
    vi.advanceTimersByTime(10);
  }
  expect(applied).toEqual([true]);
});

test("a cell gives way after a run that crashed or met a limit, however often it tries again", () => {
  for (let count = 0; count < 3; count++) {
    run(1, true);
    vi.advanceTimersByTime(500);
  }
  expect(applied).toEqual([true]);
  vi.advanceTimersByTime(5_000);
  cell.runStarts();
  expect(applied).toEqual([true, false]);
});

test("a cell gives way as long as one of its forks computes", () => {
  cell.runStarts();
  vi.advanceTimersByTime(300);
  run(10);
  expect(applied).toEqual([true]);
});
