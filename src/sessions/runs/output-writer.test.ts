import { expect, test, vi } from "vitest";
import { SerialQueue } from "../../lib/waiting/serial-queue.ts";
import type { OutputsOfRun } from "../storage/output-line.ts";
import { OutputWriter } from "./output-writer.ts";

const outputs = { events: [], value: "1", error: undefined, leftOutBytes: 0 };
const run = (number: number): OutputsOfRun => ({ run: number, atMs: 1, outputs });

function opened() {
  const written: number[][] = [];
  let fails = false;
  const appendOutputs = async (runs: readonly OutputsOfRun[]) => {
    if (fails) throw new Error("disk full");
    written.push(runs.map((one) => one.run));
  };
  const queue = new SerialQueue();
  const fail = () => {
    fails = true;
  };
  return { writer: new OutputWriter({ appendOutputs }, queue), queue, written, fail };
}

test("the outputs of runs one after the other are written together, after a moment", async () => {
  vi.useFakeTimers();
  try {
    const { writer, queue, written } = opened();
    for (const number of [1, 2, 3]) writer.add(run(number), 10);
    expect(written).toEqual([]);
    await vi.advanceTimersByTimeAsync(1_000);
    writer.add(run(4), 10);
    writer.flush();
    await queue.settled();
    expect(written).toEqual([[1, 2, 3], [4]]);
  } finally {
    vi.useRealTimers();
  }
});

test("outputs that the disk cannot take in time are dropped, and later ones are kept", async () => {
  const { writer, queue, written } = opened();
  for (const number of [1, 2, 3]) writer.add(run(number), 15 * 1024 * 1024);
  writer.flush();
  await queue.settled();
  writer.add(run(4), 15 * 1024 * 1024);
  writer.flush();
  await queue.settled();
  expect(written).toEqual([[1, 2], [4]]);
});

test("a write that fails is no unhandled rejection", async () => {
  const { writer, queue, fail } = opened();
  fail();
  writer.add(run(1), 10);
  writer.flush();
  await queue.settled();
});
