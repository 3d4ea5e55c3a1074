import { expect, test } from "vitest";
import { LateStdin } from "./late-stdin.ts";

const text = (piece: Uint8Array) => Buffer.from(piece).toString();
const bytes = (piece: string) => Buffer.from(piece);

test("a run reads what is appended while it waits, until the last piece", async () => {
  const stdin = new LateStdin();
  const read: string[] = [];
  const reading = (async () => {
    for await (const piece of stdin) {
      read.push(text(piece));
      if (read.length === 1) stdin.append(bytes("two\n"), false);
      if (read.length === 2) stdin.append(bytes("three"), true);
    }
  })();
  stdin.append(bytes("one\n"), false);
  await reading;
  expect(read).toEqual(["one\n", "two\n", "three"]);
  expect(stdin).toMatchObject({ size: 13, isComplete: true, waitingBytes: 0 });
  expect(() => stdin.append(bytes("four"), false)).toThrow(expect.objectContaining({ code: "usage" }));
});

test("what the program does not read is limited", () => {
  const stdin = new LateStdin();
  stdin.append(Buffer.alloc(1024 * 1024), false);
  expect(() => stdin.append(bytes("x"), false)).toThrow(expect.objectContaining({ code: "session_busy" }));
  expect(stdin.waitingBytes).toBe(1024 * 1024);
  stdin.append(bytes(""), true);
});

test("input comes in one body or in pieces, not both", async () => {
  const stdin = new LateStdin();
  stdin.append(bytes("x"), true);
  const body = (async function* () {})();
  expect(() => stdin.provide(body)).toThrow("already has its stdin");
  const other = new LateStdin();
  void other.provide(body);
  expect(() => other.append(bytes("x"), true)).toThrow("already has its stdin");
});
