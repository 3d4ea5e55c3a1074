import { Worker } from "node:worker_threads";
import { describe, expect, test } from "vitest";
import { createRing, dataBytes, OutputCounters, RingReader, RingWriter, recordKinds } from "./ring.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

describe("the ring between the two threads", () => {
  test("delivers complete records in order, and wakes the reader once per burst", () => {
    const ring = createRing();
    let wakes = 0;
    const writer = new RingWriter(ring, () => wakes++);
    writer.write(recordKinds.stdout, bytes("one"));
    writer.write(recordKinds.message, bytes("head"), bytes("body"));
    const seen: string[] = [];
    const reader = new RingReader(ring);
    reader.drain((kind, payload) => seen.push(`${kind} ${Buffer.from(payload)}`) > 0);
    expect(seen).toEqual(["1 one", "3 headbody"]);
    expect(wakes).toBe(1);
    writer.write(recordKinds.stderr, bytes("again"));
    expect(wakes).toBe(2);
  });

  test("keeps records that the reader does not accept yet", () => {
    const ring = createRing();
    const writer = new RingWriter(ring, () => {});
    for (const text of ["a", "b", "c"]) writer.write(recordKinds.stdout, bytes(text));
    const seen: string[] = [];
    const reader = new RingReader(ring);
    reader.drain((_, payload) => seen.push(String(Buffer.from(payload))) < 2);
    expect(seen).toEqual(["a", "b"]);
    reader.drain((_, payload) => seen.push(String(Buffer.from(payload))) > 0);
    expect(seen).toEqual(["a", "b", "c"]);
  });

  test("delivers all records when it wraps around many times", () => {
    const ring = createRing();
    const writer = new RingWriter(ring, () => {});
    const reader = new RingReader(ring);
    const piece = new Uint8Array(1_000_003).map((_, at) => at % 251);
    for (let turn = 0; turn < 20; turn++) {
      writer.write(recordKinds.stdout, piece);
      let got: Uint8Array | undefined;
      reader.drain((_, payload) => {
        got = payload;
        return true;
      });
      expect(got && Buffer.compare(got, piece)).toBe(0);
    }
  });

  test("blocks the writer while it is full, and loses no data", async () => {
    const ring = createRing();
    const size = 3 * dataBytes;
    // the record is larger than the ring, so the writer's thread blocks until this thread has read enough
    const worker = new Worker(
      `const { workerData } = require("node:worker_threads");
       const control = new Int32Array(workerData.ring, 0, 3), data = new Uint8Array(workerData.ring, 64);
       const put = (bytes) => { for (let from = 0; from < bytes.length; ) {
         const head = Atomics.load(control, 0), tail = Atomics.load(control, 1), free = ${dataBytes} - ((head - tail) | 0);
         if (free === 0) { Atomics.wait(control, 1, tail); continue; }
         const at = (head >>> 0) % ${dataBytes}, count = Math.min(free, bytes.length - from, ${dataBytes} - at);
         data.set(bytes.subarray(from, from + count), at); Atomics.store(control, 0, (head + count) | 0); from += count; } };
       const head = new Uint8Array(5); new DataView(head.buffer).setUint32(0, ${size}, true); head[4] = 1;
       put(head); put(new Uint8Array(${size}).fill(7));`,
      { eval: true, workerData: { ring } },
    );
    const reader = new RingReader(ring);
    const got = await new Promise<Uint8Array>((resolve) => {
      const timer = setInterval(() => {
        reader.drain((_, payload) => {
          clearInterval(timer);
          resolve(payload);
          return true;
        });
      }, 1);
    });
    expect(got.length).toBe(size);
    expect(Buffer.alloc(size, 7).equals(got)).toBe(true);
    await worker.terminate();
  });
});

describe("OutputCounters", () => {
  test("counts all output and passes on what is within the limit of both streams together", () => {
    const counters = new OutputCounters(createRing());
    counters.begin(10);
    expect(counters.take(recordKinds.stdout, 6)).toBe(6);
    expect(counters.take(recordKinds.stderr, 6)).toBe(4);
    expect(counters.take(recordKinds.stdout, 6)).toBe(0);
    expect([counters.stdout, counters.stderr]).toEqual([12, 6]);
  });

  test("passes on no output between runs", () => {
    const counters = new OutputCounters(createRing());
    counters.begin(10);
    counters.end();
    expect(counters.take(recordKinds.stdout, 1)).toBe(0);
  });
});
