import { expect, test } from "vitest";
import { editDistance, nearest } from "./suggest.ts";

test("counts edits, and a swap of neighbours as one", () => {
  expect(editDistance("", "abc")).toBe(3);
  expect(editDistance("memory", "memory")).toBe(0);
  expect(editDistance("memroy", "memory")).toBe(1);
  expect(editDistance("kitten", "sitting")).toBe(3);
});

test("offers the nearest word and nothing far away", () => {
  const words = ["memory", "timeout", "cpus"];
  expect(nearest("memry", words)).toBe("memory");
  expect(nearest("Timeout", words)).toBe("timeout");
  expect(nearest("cpu", words)).toBe("cpus");
  expect(nearest("colour", words)).toBeUndefined();
  expect(nearest("x".repeat(100_000), words)).toBeUndefined();
});
