import { expect, test } from "vitest";
import { FrameReader, frame } from "./frames.ts";

test("frames that arrive byte by byte are the frames that were sent", () => {
  const reader = new FrameReader(100);
  const bytes = Buffer.concat([frame("stdout", "héllo"), frame("stdin"), frame("exit", "3")]);
  const read = [...bytes].flatMap((byte) => [...reader.push(Buffer.from([byte]))]);
  expect(read.map(({ type, data }) => [type, data.toString()])).toEqual([
    ["stdout", "héllo"],
    ["stdin", ""],
    ["exit", "3"],
  ]);
});

test("several frames in one chunk are read in order, and the rest of the next one is kept", () => {
  const reader = new FrameReader(100);
  const bytes = Buffer.concat([frame("taken"), frame("stdout", "one"), frame("stderr", "two")]);
  expect([...reader.push(bytes.subarray(0, -1))].map(({ type }) => type)).toEqual(["taken", "stdout"]);
  expect([...reader.push(bytes.subarray(-1))].map(({ data }) => data.toString())).toEqual(["two"]);
});

test("bytes that are no frame are refused", () => {
  expect(() => [...new FrameReader(100).push(Buffer.from("GET / HTTP/1.1\r\n"))]).toThrow("not a frame");
});

test("a frame that is too long is refused before its content arrives", () => {
  const head = frame("request", "x".repeat(101)).subarray(0, 5);
  expect(() => [...new FrameReader(100).push(head)]).toThrow("101 bytes is too long");
  expect([...new FrameReader(101).push(head)]).toEqual([]);
});
