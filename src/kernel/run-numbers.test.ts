import { expect, test } from "vitest";
import { RunNumbers } from "./run-numbers.ts";

test("the runs of a restored session continue after its save, and the state before them is that of the save", () => {
  const numbers = new RunNumbers();
  numbers.startsAfter(5);
  numbers.note(1, 7);
  numbers.note(2, 8);
  expect([0, 1, 2].map((id) => numbers.ofSession(id))).toEqual([5, 7, 8]);
});

test("a run that never reached the cell changes only the numbers after it", () => {
  const numbers = new RunNumbers();
  numbers.note(1, 1);
  numbers.note(2, 3);
  expect([0, 1, 2].map((id) => numbers.ofSession(id))).toEqual([0, 1, 3]);
});
