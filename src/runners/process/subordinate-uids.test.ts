import { expect, test } from "vitest";
import { listsRange } from "./subordinate-uids.ts";

const list = "ann:100000:65536\n1007:165536:65536\nbob:231072:1000\n";

test("a user has subordinate uids by name or by number, and enough of them", () => {
  expect(listsRange(list, "ann", 1001)).toBe(true);
  expect(listsRange(list, "eve", 1007)).toBe(true);
  expect(listsRange(list, "bob", 1002)).toBe(false);
  expect(listsRange(list, "eve", 1003)).toBe(false);
  expect(listsRange("", "ann", 1001)).toBe(false);
});
