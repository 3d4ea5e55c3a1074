import { once } from "node:events";
import { Readable, Writable } from "node:stream";
import { expect, test } from "vitest";
import { takeTurns } from "./take-turns.ts";

const chunk = Buffer.alloc(64 * 1024);

/** Has all its bytes at once, like a socket that a server fills faster than we read. */
function fullSource(chunks: number): Readable {
  let left = chunks;
  return new Readable({
    read() {
      this.push(left-- > 0 ? chunk : null);
    },
  });
}

test("a pipe at full speed yields to other work, and loses no bytes", async () => {
  let received = 0;
  const sink = new Writable({
    highWaterMark: 1 << 30,
    write(bytes: Buffer, _encoding, done) {
      received += bytes.length;
      done();
    },
  });
  const source = fullSource(64);
  source.pipe(sink);
  takeTurns(source, sink);
  const seen: number[] = [];
  const look = () => {
    seen.push(received / chunk.length);
    if (!sink.writableFinished) setImmediate(look);
  };
  setImmediate(look);
  await once(sink, "finish");
  expect(received).toBe(64 * chunk.length);
  expect(seen.length).toBeGreaterThanOrEqual(16);
  expect(Math.max(...seen.map((count, at) => count - (seen[at - 1] ?? 0)))).toBeLessThanOrEqual(4);
});

test("a pipe whose sink is full pauses its source", async () => {
  const sink = new Writable({ highWaterMark: 1, write() {} });
  const source = fullSource(1000);
  let taken = 0;
  source.on("data", (bytes: Buffer) => {
    taken += bytes.length;
  });
  source.pipe(sink);
  takeTurns(source, sink);
  for (let turn = 0; turn < 50; turn++) await new Promise((next) => setImmediate(next));
  expect(taken).toBeLessThanOrEqual(4 * chunk.length);
});
