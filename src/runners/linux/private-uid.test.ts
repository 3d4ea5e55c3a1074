import { expect, test } from "vitest";
import { privateUids } from "./private-uid.ts";

test("takes uids that nobody has when all are mapped", () => {
  expect(privateUids("         0          0 4294967295\n")).toEqual({ first: 1_879_048_192, count: 65_536 });
});

test("takes the upper half of what a rootless container has", () => {
  expect(privateUids("0 1000 1\n1 100000 65536\n")).toEqual({ first: 32_769, count: 32_766 });
});

test("finds none where only one uid is mapped", () => {
  expect(privateUids("0 1000 1\n")).toBeUndefined();
  expect(privateUids("")).toBeUndefined();
});
