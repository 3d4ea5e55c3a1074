import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { GiveWay, HeavyCells } from "./give-way.ts";

let applied: boolean[];
let cell: GiveWay;
beforeEach(() => {
  vi.useFakeTimers();
  applied = [];
  cell = new GiveWay((givesWay) => applied.push(givesWay), new HeavyCells(0));
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

test("only a crowd of heavy cells gives way, and has its share again when it is none any more", () => {
  const heavy = new HeavyCells(2);
  const said: Record<string, boolean> = {};
  const cells = ["a", "b", "c"].map((name) => new GiveWay((givesWay) => (said[name] = givesWay), heavy));
  for (const one of cells.slice(0, 2)) one.runStarts();
  vi.advanceTimersByTime(1_000);
  expect(said).toEqual({});
  cells[2]?.runStarts();
  vi.advanceTimersByTime(300);
  expect(said).toEqual({ a: true, b: true, c: true });
  cells[0]?.runEnds(false);
  expect(said).toEqual({ a: true, b: false, c: false });
});
