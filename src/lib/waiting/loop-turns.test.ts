import { setImmediate as round } from "node:timers/promises";
import { expect, test } from "vitest";
import { LoopTurns } from "./loop-turns.ts";

test("heavy work gets one turn per round of the event loop, in the order in which it asked", async () => {
  const turns = new LoopTurns();
  const done: string[] = [];
  const work = async (name: string) => {
    for (let slice = 0; slice < 2; slice++) {
      await turns.next();
      done.push(name);
    }
  };
  const all = Promise.all(["a", "b", "c"].map(work));
  const perRound: number[] = [];
  while (done.length < 6) {
    const before = done.length;
    await round();
    perRound.push(done.length - before);
  }
  await all;
  expect(done).toEqual(["a", "b", "c", "a", "b", "c"]);
  expect(Math.max(...perRound)).toBe(1);
});
