import { expect, test } from "vitest";
import { smallPng } from "../../../test/fakes/small-png.ts";
import { isSoundPng } from "./sound-image.ts";

test("knows a whole PNG", () => {
  expect(isSoundPng(smallPng())).toBe(true);
});

test("turns away what only claims to be one", () => {
  expect(isSoundPng(Buffer.from("not a picture"))).toBe(false);
  expect(isSoundPng(smallPng().subarray(0, -1))).toBe(false);
  expect(isSoundPng(smallPng({ width: 0 }))).toBe(false);
  expect(isSoundPng(smallPng({ width: 100_000 }))).toBe(false);
  expect(isSoundPng(new Uint8Array())).toBe(false);
});
