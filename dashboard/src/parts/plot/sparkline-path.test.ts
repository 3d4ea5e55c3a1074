import { expect, test } from "vitest";
import { sparklinePath } from "./sparkline-path.ts";

const box = { width: 30, height: 12 };

test("a curve goes from the left to the right, and its largest value is at the top", () => {
  expect(sparklinePath([0, 5, 10, 0], box)).toBe("M0 11L10 6L20 1L30 11");
  expect(sparklinePath([0, 5], { ...box, max: 50 })).toBe("M0 11L30 10");
});

test("unknown values interrupt it, one value is a short line, and none draws nothing", () => {
  expect(sparklinePath([1, null, 1, 1], box)).toBe("M0 1M20 1L30 1");
  expect(sparklinePath([3], box)).toBe("M0 1h2");
  expect(sparklinePath([], box)).toBe("");
});
