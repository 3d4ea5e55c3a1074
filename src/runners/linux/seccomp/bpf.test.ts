import { expect, test } from "vitest";
import { simulateFilter } from "../../../../test/support/bpf-simulator.ts";
import { answer, argumentHigh, argumentLow, encode, field, ifAnyBit, ifEqual, load, unlessEqual } from "./bpf.ts";

const call = (number: number, ...args: (number | bigint)[]) => ({ arch: 7, number, args });

test("ifEqual runs its branch for each listed value and continues after it for any other", () => {
  const program = encode([
    ...load(field.syscall),
    ...ifEqual([3, 5, 9], answer(1)),
    ...ifEqual([6], answer(2)),
    ...answer(0),
  ]);
  expect([3, 5, 9, 6, 4].map((number) => simulateFilter(program, call(number)))).toEqual([1, 1, 1, 2, 0]);
});

test("ifEqual adds no instruction for an empty list of values", () => {
  expect(ifEqual([], answer(1))).toEqual([]);
});

test("unlessEqual skips its branch for the value and runs it for any other", () => {
  const program = encode([...load(field.arch), ...unlessEqual(7, answer(1)), ...answer(0)]);
  expect(simulateFilter(program, { arch: 7, number: 0 })).toBe(0);
  expect(simulateFilter(program, { arch: 8, number: 0 })).toBe(1);
});

test("argumentLow and argumentHigh load the two halves of an argument", () => {
  const low = encode([...load(argumentLow(2)), ...ifAnyBit(0x80000000, answer(1)), ...answer(0)]);
  const high = encode([...load(argumentHigh(2)), ...ifAnyBit(0x80000000, answer(1)), ...answer(0)]);
  expect(simulateFilter(low, call(0, 0, 0, 1n << 31n))).toBe(1);
  expect(simulateFilter(high, call(0, 0, 0, 1n << 31n))).toBe(0);
  expect(simulateFilter(high, call(0, 0, 0, 1n << 63n))).toBe(1);
});

test("a branch that falls through or is too long is rejected", () => {
  expect(() => ifEqual([1], load(0))).toThrow("must end with a return");
  expect(() => ifEqual([1], [...Array.from({ length: 255 }, () => load(0)).flat(), ...answer(0)])).toThrow("too long");
  expect(() =>
    ifEqual(
      Array.from({ length: 256 }, (_, index) => index),
      answer(0),
    ),
  ).toThrow("too many values");
});
