import { expect, test } from "vitest";
import { privateUids } from "./private-uid.ts";

test("private uids are in an unused range if all uids are mapped", () => {
  expect(privateUids("         0          0 4294967295\n")).toEqual({ first: 1_879_048_192, count: 65_536 });
});

test("private uids are the upper half of the uids of a rootless container", () => {
  expect(privateUids("0 1000 1\n1 100000 65536\n")).toEqual({ first: 32_769, count: 32_766 });
});

test("there are no private uids if only one uid is mapped", () => {
  expect(privateUids("0 1000 1\n")).toBeUndefined();
  expect(privateUids("")).toBeUndefined();
});
