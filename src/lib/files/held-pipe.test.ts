import { mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { holdPipe, isPipeHeld } from "./held-pipe.ts";

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "pipe-"));
});
afterEach(() => rm(directory, { recursive: true }));

test("a pipe is held until it is released, however often it is checked", async () => {
  const path = join(directory, "held");
  expect(await isPipeHeld(path)).toBe(false);
  const release = await holdPipe(path);
  expect(await isPipeHeld(path)).toBe(true);
  expect(await isPipeHeld(path)).toBe(true);
  await release();
  expect(await isPipeHeld(path)).toBe(false);
});

test.skipIf(process.platform !== "linux")("a pipe can be made through a descriptor of its directory", async () => {
  const handle = await open(directory, "r");
  try {
    const release = await holdPipe(`/proc/self/fd/${handle.fd}/held`);
    expect(await isPipeHeld(join(directory, "held"))).toBe(true);
    await release();
  } finally {
    await handle.close();
  }
});
