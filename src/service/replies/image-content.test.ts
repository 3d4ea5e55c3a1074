import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { smallPng } from "../../../test/fakes/small-png.ts";
import { imageContent, imageLimits, previewMime } from "./image-content.ts";

const display = (data: Uint8Array, mime = "image/png") => ({ type: "display" as const, display: 1, mime, data });

test("a run result shows four images and notes that the fifth is not shown", () => {
  const { blocks, notes } = imageContent(Array.from({ length: 5 }, () => display(smallPng())));
  expect(blocks).toHaveLength(4);
  expect(notes).toEqual(["image 5 is not shown: a result shows at most 4; display the others in another run"]);
});

test("images that are too large, damaged or not PNG are not shown", () => {
  const { blocks, notes } = imageContent([
    display(smallPng({ bytes: 300 * 1024 })),
    display(Buffer.from("<svg/>")),
    display(Buffer.from("<svg/>"), "image/svg+xml"),
    display(smallPng()),
  ]);
  expect(blocks).toMatchObject([{ type: "image", mimeType: "image/png" }]);
  expect(notes).toHaveLength(2);
  expect(notes[0]).toContain("300 KiB");
});

test("the images of one run result share a size limit", () => {
  const large = Array.from({ length: 4 }, () => display(smallPng({ bytes: 190 * 1024 })));
  expect(imageContent(large).blocks).toHaveLength(3);
});

test("an image that is too large is shown in its smaller form, and the notes say so", () => {
  const large = smallPng({ width: 3000, bytes: 500 * 1024 });
  const small = smallPng({ width: 900, bytes: 100 * 1024 });
  const { blocks, notes } = imageContent([display(large), display(small, previewMime), display(smallPng())]);
  expect(blocks).toMatchObject([{ data: small.toString("base64") }, { data: smallPng().toString("base64") }]);
  expect(notes).toEqual([
    "image 1 is shown with 900x8 of its 3000x8 pixels, because it has 500 KiB; save it to a file to keep all of it",
  ]);
});

test("many images that unpack to much more than their size are not all unpacked", async () => {
  const [width, height] = [5_000, 5_000];
  const pixels = Buffer.alloc((width + 1) * height);
  pixels[pixels.length - width - 1] = 9; // an unknown filter in the last row
  const bomb = smallPng({ width, height, pixels });
  expect(bomb.length).toBeLessThan(imageLimits.bytes);
  const { blocks, notes } = imageContent([...Array.from({ length: 200 }, () => display(bomb)), display(smallPng())]);
  expect(blocks).toEqual([]);
  expect(notes[2]).toContain("too many pixels");
});

test("a damaged smaller form is not shown", () => {
  const { blocks, notes } = imageContent([
    display(smallPng({ bytes: 500 * 1024 })),
    display(Buffer.from("?"), previewMime),
  ]);
  expect(blocks).toEqual([]);
  expect(notes).toEqual(["image 1 is not shown: it is not a valid PNG"]);
});

test("the kernel and the replies agree about which images are too large", () => {
  const source = readFileSync(new URL("../../../python/codecell_kernel/worker/displays.py", import.meta.url), "utf8");
  expect(source).toContain(`MAX_PICTURE_BYTES = ${imageLimits.bytes / 1024} << 10`);
  expect(source).toContain(`PREVIEW = "${previewMime}"`);
});
