import { readdirSync } from "node:fs";
import { setImmediate as turn } from "node:timers/promises";
import { queryObjects } from "node:v8";
import { describe, expect, test } from "vitest";
import type { Codecell } from "../../src/sessions/codecell.ts";
import { newStateDir, openManager, removeStateDir } from "../support/managers.ts";
import { ownCells, skipsProcess } from "../support/process-cells.ts";
import { isThorough } from "../support/thorough.ts";

/** Under the default policy a session that is used twice an hour expires 48 times a day: `LIFE_CYCLES=48` is such a day. */
const cycles = Number(process.env.LIFE_CYCLES ?? 4);
const ids = ["one", "two", "three", "four"];

interface Footprint {
  readonly descriptors: number;
  readonly promises: number;
}

async function footprint(): Promise<Footprint> {
  for (let count = 0; count < 5; count++) await turn();
  return {
    descriptors: readdirSync("/proc/self/fd").length,
    promises: queryObjects(Promise, { format: "count" }),
  };
}

/** Uses every session, and waits until each has expired and was saved. */
async function live(codecell: Codecell, cycle: number): Promise<void> {
  await Promise.all(
    ids.map(async (id) => {
      const session = await codecell.session(id);
      const result = await session.run("n = n + 1 if 'n' in globals() else 0\nn");
      expect(result.value, `${id}: ${result.notes.join("; ")}`).toBe(String(cycle));
    }),
  );
  await expect.poll(() => [...codecell.aliveIds(), ...ownCells()]).toEqual([]);
}

// A release asks it (docs/adr/0055), as all that measures growth over many rounds.
describe.skipIf(skipsProcess || !isThorough)("a host that runs for a day", () => {
  test(`keeps its variables and grows by nothing while ${ids.length} sessions expire ${cycles} times each`, async () => {
    const stateDir = await newStateDir();
    const codecell = await openManager(stateDir, { session: { persist: true, idle: "250ms", pool: 0 } });
    try {
      for (let cycle = 0; cycle < 3; cycle++) await live(codecell, cycle);
      let before = await footprint();
      await expect
        .poll(async () => {
          const last = before.descriptors;
          before = await footprint();
          return before.descriptors - last;
        })
        .toBe(0);
      for (let cycle = 3; cycle < 3 + cycles; cycle++) await live(codecell, cycle);
      // what a cell had is closed soon after its last process has exited
      await expect.poll(async () => (await footprint()).descriptors).toBeLessThanOrEqual(before.descriptors);
      // less than one for each life of a session; the test's own waiting has about ten at a time
      const growth = async () => (await footprint()).promises - before.promises;
      await expect.poll(growth).toBeLessThan(cycles * ids.length);
      expect(ownCells()).toEqual([]);
    } finally {
      await codecell.close();
      await removeStateDir(stateDir);
    }
  }, 240_000);
});
