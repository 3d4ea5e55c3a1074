import { expect, test } from "vitest";
import { SerialQueue } from "../../../lib/waiting/serial-queue.ts";
import { BodyMemory, freeBytes } from "../../../service/body-memory.ts";
import { builtInTurn } from "./built-in-turn.ts";

const queue = new SerialQueue();
const { signal } = new AbortController();

test("a large response is built only when the one before it has memory", async () => {
  const responses = new BodyMemory(1024);
  const built: number[] = [];
  const ask = (number: number) => {
    const memory = responses.lease();
    const bytes = builtInTurn({ queue, memory, signal }, async () => {
      built.push(number);
      return new Uint8Array(freeBytes + 1024);
    });
    return { memory, bytes };
  };
  const [first, second, third] = [ask(1), ask(2), ask(3)];
  await first.bytes;
  await expect.poll(() => built).toEqual([1, 2]);
  expect(responses.usedBytes).toBe(1024);
  first.memory[Symbol.dispose](); // its client has read it
  await second.bytes;
  await expect.poll(() => built).toEqual([1, 2, 3]);
  second.memory[Symbol.dispose]();
  await third.bytes;
});

test("a client that leaves while it waits is not answered, and keeps nobody waiting", async () => {
  const responses = new BodyMemory(1024);
  const leaving = new AbortController();
  const [kept, gone, next] = [responses.lease(), responses.lease(), responses.lease()];
  const large = async () => new Uint8Array(freeBytes + 1024);
  await builtInTurn({ queue, memory: kept, signal }, large);
  const waits = builtInTurn({ queue, memory: gone, signal: leaving.signal }, large);
  leaving.abort();
  await expect(waits).rejects.toThrow();
  expect((await builtInTurn({ queue, memory: next, signal }, async () => new Uint8Array(1))).byteLength).toBe(1);
});
