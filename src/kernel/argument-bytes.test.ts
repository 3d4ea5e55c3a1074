import { expect, test } from "vitest";
import { ArgumentBytes } from "./argument-bytes.ts";

test("arguments that arrive byte by byte take at most twice their size", () => {
  const sent = Buffer.from(Array.from({ length: 100_000 }, (_, at) => at % 251));
  const bytes = new ArgumentBytes(16 * 1024 * 1024);
  for (let at = 0; at < sent.length; at++) bytes.add(sent.subarray(at, at + 1));
  expect(bytes.capacity).toBeLessThanOrEqual(2 * sent.length);
  expect(bytes.bytes().equals(sent)).toBe(true);
});

test("arguments that arrive in one piece take exactly their size, and announced bytes take none", () => {
  const bytes = new ArgumentBytes(70_000);
  expect(bytes.capacity).toBe(0);
  bytes.add(Buffer.alloc(70_000, 1));
  expect(bytes.capacity).toBe(70_000);
});
