import { expect, test } from "vitest";
import { smallPng } from "../../../test/fakes/small-png.ts";
import { imageContent } from "./image-content.ts";

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
