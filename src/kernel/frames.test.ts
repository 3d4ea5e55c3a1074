import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { encodeFrame, encodeFrameHead, encodeTextFrame, FrameDecoder, maxFrameBytes } from "./frames.ts";

interface Fixture {
  name: string;
  header: object;
  bodyHex: string;
  frameHex: string;
}

// The Python tests read the same file.
const url = new URL("../../test/fixtures/kernel/frames.json", import.meta.url);
const fixtures = JSON.parse(readFileSync(url, "utf8")) as Fixture[];

function decodeAll(bytes: Uint8Array, pieceBytes = bytes.length): { header: unknown; body: string }[] {
  const frames: { header: unknown; body: string }[] = [];
  const decoder = new FrameDecoder();
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    decoder.push(bytes.subarray(at, at + pieceBytes), ({ header, body }) => {
      frames.push({ header, body: Buffer.from(body).toString("hex") });
    });
  }
  return frames;
}

describe("frames", () => {
  test.each(fixtures)("the decoder reads $name", ({ header, bodyHex, frameHex }) => {
    expect(decodeAll(Buffer.from(frameHex, "hex"))).toEqual([{ header, body: bodyHex }]);
  });

  test.each(fixtures)("$name is the same after encoding and decoding", ({ header, bodyHex }) => {
    const body = Buffer.from(bodyHex, "hex");
    const frame = Buffer.concat([encodeFrameHead(header, body.length), body]);
    expect(decodeAll(frame)).toEqual([{ header, body: bodyHex }]);
  });

  test.each([1, 2, 3, 7, 11])("the decoder reads a stream that arrives in chunks of %i bytes", (pieceBytes) => {
    const stream = Buffer.concat(fixtures.map(({ frameHex }) => Buffer.from(frameHex, "hex")));
    const expected = fixtures.map(({ header, bodyHex }) => ({ header, body: bodyHex }));
    expect(decodeAll(stream, pieceBytes)).toEqual(expected);
  });

  test.each([
    ["a length over the limit", [maxFrameBytes + 1, 2]],
    ["a header longer than the frame", [10, 7]],
    ["a length too small for a header", [3, 0]],
  ])("the decoder rejects %s before it allocates memory", (_, [length, headerLength]) => {
    const prefix = Buffer.alloc(8);
    prefix.writeUInt32LE(length as number, 0);
    prefix.writeUInt32LE(headerLength as number, 4);
    expect(() => decodeAll(prefix)).toThrowError(expect.objectContaining({ code: "cell_lost" }));
  });

  test.each(["", "1+1", "é 語 😀", "half a pair: \ud800."])("a text %j has the same frame as its bytes", (text) => {
    const bytes = Buffer.from(text);
    const frame = encodeTextFrame({ t: "run" }, text, Buffer.byteLength(text));
    expect(frame).toEqual(encodeFrame({ t: "run" }, [bytes], bytes.length));
  });

  test("the decoder rejects a header that is not JSON", () => {
    const frame = Buffer.from("06000000020000007b7b", "hex");
    expect(() => decodeAll(frame)).toThrowError(expect.objectContaining({ code: "cell_lost" }));
  });

  test("a frame over the size limit is not encoded", () => {
    expect(() => encodeFrameHead({}, maxFrameBytes)).toThrowError(expect.objectContaining({ code: "too_large" }));
  });
});
