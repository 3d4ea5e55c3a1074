import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writable } from "node:stream";
import { afterAll, describe, expect, test } from "vitest";
import { SpillingWriter } from "./spilling-writer.ts";

const directory = mkdtempSync(join(tmpdir(), "codecell-spill-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** A stream whose reader takes nothing until it is asked to. */
function slowStream() {
  const taken: Buffer[] = [];
  let bytes = 0;
  let accept: (() => void) | undefined;
  let isReading = false;
  const stream = new Writable({
    decodeStrings: true,
    write(chunk: Buffer, _encoding, done) {
      taken.push(chunk);
      bytes += chunk.byteLength;
      if (isReading) setImmediate(done);
      else accept = () => done();
    },
  });
  const read = () => {
    isReading = true;
    accept?.();
  };
  return { stream, read, bytes: () => bytes, text: () => Buffer.concat(taken).toString() };
}

const lines = Array.from({ length: 400 }, (_, number) => `${number} ${"é".repeat(5_000)}\n`);

async function takenInFull(slow: ReturnType<typeof slowStream>): Promise<string> {
  slow.read();
  const total = Buffer.byteLength(lines.join(""));
  while (slow.bytes() < total) await new Promise(setImmediate);
  return slow.text();
}

describe("SpillingWriter", () => {
  test("keeps what a slow reader has not taken in a file without a name, and delivers all of it in order", async () => {
    const slow = slowStream();
    const writer = new SpillingWriter(slow.stream, directory);
    for (const line of lines) writer.write(line);
    expect(slow.stream.writableLength).toBeLessThan(1.1 * 2 ** 20);
    expect(readdirSync(directory)).toEqual([]);
    expect((await takenInFull(slow)) === lines.join("")).toBe(true);
  });

  test("keeps the output in memory if there is no directory for temporary files", async () => {
    const slow = slowStream();
    const writer = new SpillingWriter(slow.stream, join(directory, "missing"));
    for (const line of lines) writer.write(line);
    expect((await takenInFull(slow)) === lines.join("")).toBe(true);
  });

  test("drops what waits when the reader is gone", async () => {
    const slow = slowStream();
    const writer = new SpillingWriter(slow.stream, directory);
    for (const line of lines) writer.write(line);
    slow.stream.destroy();
    await new Promise((resolve) => slow.stream.on("close", resolve));
    expect(() => writer.write("more")).not.toThrow();
  });
});
