import { expect, test } from "vitest";
import { AnswerPieces } from "./answer-pieces.ts";

test("a hundred thousand tiny pieces are kept as a few, in their order, and empty ones not at all", () => {
  const pieces = new AnswerPieces();
  const sent = Buffer.from(Array.from({ length: 100_000 }, (_, at) => at % 251));
  for (let at = 0; at < sent.length; at++) {
    pieces.add(sent.subarray(at, at + 1));
    pieces.add(Buffer.alloc(0));
  }
  expect(pieces.count).toBeLessThan(2_000);
  expect(pieces.joined().equals(sent)).toBe(true);
});

test("large pieces are not copied before the answer is complete", () => {
  const pieces = new AnswerPieces();
  const large = Buffer.alloc(64 * 1024);
  for (let count = 0; count < 1_500; count++) pieces.add(large);
  expect(pieces.count).toBe(1_500);
});
