import type { Socket } from "node:net";
import { PassThrough } from "node:stream";
import { describe, expect, test } from "vitest";
import { AttachedStream } from "./attached-stream.ts";

function frame(stream: 1 | 2, content: string): Buffer {
  const header = Buffer.from([stream, 0, 0, 0, 0, 0, 0, 0]);
  header.writeUInt32BE(Buffer.byteLength(content), 4);
  return Buffer.concat([header, Buffer.from(content)]);
}

/** Sends the pieces through an attached stream and returns what comes out. */
async function receive(pieces: readonly Buffer[], head: Buffer = Buffer.alloc(0)) {
  const socket = new PassThrough();
  const stream = new AttachedStream(socket as unknown as Socket, head);
  for (const piece of pieces) socket.write(piece);
  socket.end();
  let output = "";
  for await (const piece of stream) output += String(piece);
  return { output, log: stream.log };
}

/** A pseudorandom sequence that is the same on every machine. */
function* numbers(seed: number): Generator<number> {
  for (let state = seed; ; ) {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    yield state;
  }
}

const wire = Buffer.concat([
  ...[frame(1, "first "), frame(2, "a complaint"), frame(1, ""), frame(1, "second "), frame(2, " and another")],
  frame(1, "x".repeat(300)),
]);
const expected = { output: `first second ${"x".repeat(300)}`, log: "a complaint and another" };

describe("an attached stream", () => {
  test("has the same output wherever it is split in two", async () => {
    for (let at = 0; at <= wire.byteLength; at++) {
      expect(await receive([wire.subarray(0, at), wire.subarray(at)])).toEqual(expected);
    }
  });

  test("has the same output byte by byte and in pieces of any size", async () => {
    expect(await receive([...wire].map((byte) => Buffer.from([byte])))).toEqual(expected);
    for (let seed = 1; seed <= 200; seed++) {
      const sizes = numbers(seed);
      const pieces: Buffer[] = [];
      for (let at = 0; at < wire.byteLength; ) {
        const size = 1 + (Number(sizes.next().value) % 40);
        pieces.push(wire.subarray(at, at + size));
        at += size;
      }
      expect(await receive(pieces)).toEqual(expected);
    }
  });

  test("starts with the bytes that arrived together with the response", async () => {
    expect(await receive([wire.subarray(11)], wire.subarray(0, 11))).toEqual(expected);
  });

  test("keeps at most 4000 characters of the log", async () => {
    const { log } = await receive(Array.from({ length: 100 }, () => frame(2, "y".repeat(1000))));
    expect(log.length).toBe(4000);
  });

  test("delivers the part of a piece that arrived before the connection closed", async () => {
    expect(await receive([frame(1, "whole"), frame(1, "broken").subarray(0, 10)])).toMatchObject({
      output: "wholebr",
    });
  });

  test("passes writes to the container in order", async () => {
    const socket = new PassThrough();
    const sent: string[] = [];
    socket.write = ((chunk: Buffer, callback?: () => void) => {
      sent.push(String(chunk));
      callback?.();
      return true;
    }) as typeof socket.write;
    const stream = new AttachedStream(socket as unknown as Socket, Buffer.alloc(0));
    stream.cork();
    for (const word of ["one", "two", "three"]) stream.write(word);
    stream.uncork();
    await new Promise((resolve) => stream.write("four", resolve));
    expect(sent.join(" ")).toBe("one two three four");
  });
});
