import { expect, test } from "vitest";
import { privateUids } from "./private-uid.ts";

test("private uids are in an unused range if all uids are mapped", () => {
  expect(privateUids("         0          0 4294967295\n")).toEqual({
    shared: { first: 1_879_048_192, count: 65_536 },
    own: { first: 1_879_113_728, count: 16_711_680 },
  });
});

test("private uids are the upper half of the uids of a rootless container", () => {
  expect(privateUids("0 1000 1\n1 100000 65536\n")).toEqual({
    shared: { first: 32_769, count: 16_383 },
    own: { first: 49_152, count: 16_383 },
  });
});

test("there are no private uids if only one uid is mapped", () => {
  expect(privateUids("0 1000 1\n")).toBeUndefined();
  expect(privateUids("")).toBeUndefined();
});
