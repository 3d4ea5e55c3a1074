import { expect, test } from "vitest";
import { pngChunk, smallPng } from "../../../test/fakes/small-png.ts";
import { leastCpuMsOf } from "../../../test/support/cpu-time.ts";
import { pngProblem } from "./sound-image.ts";

const rgba = [8, 6, 0, 0, 0];
const palette = pngChunk("PLTE", Buffer.alloc(6));

test.each<[string, Buffer]>([
  ["of gray pixels", smallPng()],
  ["with a comment", smallPng({ bytes: 1_000 })],
  ["with transparency", smallPng({ format: rgba, pixels: Buffer.alloc(8 * 33) })],
  ["of one bit per pixel", smallPng({ width: 9, format: [1, 0, 0, 0, 0], pixels: Buffer.alloc(8 * 3) })],
  ["with a palette", smallPng({ format: [8, 3, 0, 0, 0], extra: [palette] })],
  ["that is interlaced", smallPng({ format: [8, 0, 0, 0, 1], pixels: Buffer.alloc(2 + 2 + 3 + 6 + 10 + 20 + 36) })],
])("a PNG %s is accepted", (_what, png) => {
  expect(pngProblem(png)).toBeUndefined();
});

const changed = (at: number) => {
  const png = smallPng();
  const index = at < 0 ? png.length + at : at;
  png[index] = (png[index] ?? 0) ^ 1;
  return png;
};
const idat = pngChunk("IDAT", Buffer.from("x"));

test.each<[string, Uint8Array]>([
  ["no picture at all", Buffer.from("not a picture")],
  ["nothing", new Uint8Array()],
  ["only the signature", smallPng().subarray(0, 8)],
  ["its last byte missing", smallPng().subarray(0, -1)],
  ["bytes after its end", Buffer.concat([smallPng(), Buffer.from("x")])],
  ["no width", smallPng({ width: 0 })],
  ["a side that is too long", smallPng({ width: 100_000 })],
  ["an impossible kind of pixel", smallPng({ format: [3, 2, 0, 0, 0] })],
  ["an unknown compression", smallPng({ format: [8, 0, 1, 0, 0] })],
  ["a wrong checksum of its header", changed(29)],
  ["a wrong checksum of its pixels", changed(-13)],
  ["a header that was changed", changed(19)],
  ["fewer pixels than it states", smallPng({ pixels: Buffer.alloc(71) })],
  ["more pixels than it states", smallPng({ pixels: Buffer.alloc(73) })],
  ["an unknown filter", smallPng({ pixels: Buffer.alloc(72, 5) })],
  ["no palette that it needs", smallPng({ format: [8, 3, 0, 0, 0] })],
  ["an unknown critical chunk", smallPng({ extra: [pngChunk("ABCD")] })],
  ["pixels that cannot be decompressed", smallPng({ extra: [idat] })],
  ["pixels in two places", smallPng({ extra: [idat, pngChunk("tEXt")] })],
])("a PNG with %s is refused", (_what, png) => {
  expect(pngProblem(png)).toBe("it is not a valid PNG");
});

test("a PNG whose pixels take gigabytes is refused without decompressing them", async () => {
  const bomb = smallPng({ width: 8_000, height: 8_000, format: [16, 6, 0, 0, 0] });
  expect(pngProblem(bomb)).toContain("too many pixels (8000x8000)");
  expect(await leastCpuMsOf(() => pngProblem(bomb))).toBeLessThan(100);
});
