import { expect, test } from "vitest";
import { smallPng } from "../../../test/fakes/small-png.ts";
import { isSoundPng } from "./sound-image.ts";

test("a complete PNG is accepted", () => {
  expect(isSoundPng(smallPng())).toBe(true);
});

test("truncated, oversized and fake PNGs are refused", () => {
  expect(isSoundPng(Buffer.from("not a picture"))).toBe(false);
  expect(isSoundPng(smallPng().subarray(0, -1))).toBe(false);
  expect(isSoundPng(smallPng({ width: 0 }))).toBe(false);
  expect(isSoundPng(smallPng({ width: 100_000 }))).toBe(false);
  expect(isSoundPng(new Uint8Array())).toBe(false);
});
