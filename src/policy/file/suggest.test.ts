import { expect, test } from "vitest";
import { editDistance, nearest } from "./suggest.ts";

test("editDistance counts a swap of two neighbours as one edit", () => {
  expect(editDistance("", "abc")).toBe(3);
  expect(editDistance("memory", "memory")).toBe(0);
  expect(editDistance("memroy", "memory")).toBe(1);
  expect(editDistance("kitten", "sitting")).toBe(3);
});

test("nearest suggests the closest word, and none that is too different", () => {
  const words = ["memory", "timeout", "cpus"];
  expect(nearest("memry", words)).toBe("memory");
  expect(nearest("Timeout", words)).toBe("timeout");
  expect(nearest("cpu", words)).toBe("cpus");
  expect(nearest("colour", words)).toBeUndefined();
  expect(nearest("x".repeat(100_000), words)).toBeUndefined();
});
