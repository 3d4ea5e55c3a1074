import { expect, test } from "vitest";
import { smallPng } from "../../../test/fakes/small-png.ts";
import { imageContent } from "./image-content.ts";

const display = (data: Uint8Array, mime = "image/png") => ({ type: "display" as const, display: 1, mime, data });

test("shows four pictures and says what became of the fifth", () => {
  const { blocks, notes } = imageContent(Array.from({ length: 5 }, () => display(smallPng())));
  expect(blocks).toHaveLength(4);
  expect(notes).toEqual(["picture 5 is not shown: a result shows 4; display the others in another run"]);
});

test("leaves out large pictures, broken ones and other forms", () => {
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

test("keeps all pictures together under a bound", () => {
  const large = Array.from({ length: 4 }, () => display(smallPng({ bytes: 190 * 1024 })));
  expect(imageContent(large).blocks).toHaveLength(3);
});
