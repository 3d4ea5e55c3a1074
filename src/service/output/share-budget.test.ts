import { expect, test } from "vitest";
import { FakeRandom } from "../../../test/fakes/fake-random.ts";
import { shareBudget } from "./share-budget.ts";

const claim = (need: number, weight = 1, floor = 0) => ({ need, weight, floor });

test("shareBudget meets all claims in full if the budget is large enough", () => {
  expect(shareBudget([claim(10), claim(20, 5)], 100)).toEqual([10, 20]);
});

test("shareBudget meets a small claim in full even next to a huge one", () => {
  expect(shareBudget([claim(1_000_000, 9), claim(30)], 1_000)).toEqual([970, 30]);
});

test("shareBudget splits the budget between large claims by weight", () => {
  expect(shareBudget([claim(9_999, 3), claim(9_999, 1)], 400)).toEqual([300, 100]);
});

test("shareBudget grants a claim's floor even beyond the budget", () => {
  expect(shareBudget([claim(500, 1, 40), claim(500, 1, 40)], 10)).toEqual([40, 40]);
});

test("shareBudget never exceeds a need, and exceeds the budget only for floors", () => {
  const random = new FakeRandom(3);
  for (let round = 0; round < 2_000; round++) {
    const claims = Array.from({ length: random.below(7) }, () => {
      const need = random.below(1_000);
      return claim(need, 1 + random.below(5), Math.min(need, random.below(50)));
    });
    const budget = random.below(3_000);
    const shares = shareBudget(claims, budget);
    const sum = (numbers: number[]) => numbers.reduce((total, number) => total + number, 0);
    const needs = sum(claims.map((one) => one.need));
    expect(sum(shares)).toBeLessThanOrEqual(Math.max(budget, sum(claims.map((one) => one.floor))));
    expect(sum(shares)).toBeGreaterThanOrEqual(Math.min(needs, budget - claims.length));
    for (const [index, one] of claims.entries()) expect(shares[index]).toBeLessThanOrEqual(one.need);
  }
});
