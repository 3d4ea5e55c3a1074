import { beforeEach, describe, expect, test } from "vitest";
import type { DeletedFiles } from "./deleted-files.ts";
import { HiddenFiles } from "./hidden-files.ts";

const limit = 1000 * 2 ** 20;

describe("HiddenFiles", () => {
  let used: number;
  let counts: number;
  let answer: DeletedFiles;
  let hidden: HiddenFiles;
  let clockMs: number;
  let countMs: number;
  beforeEach(async () => {
    clockMs = 0;
    used = 5 * limit;
    counts = 0;
    answer = { bytes: 0, coverage: "complete" };
    countMs = 100;
    hidden = new HiddenFiles(
      async () => ({ bytes: used, isPrompt: true }),
      async () => {
        counts++;
        clockMs += countMs;
        return answer;
      },
      () => clockMs,
    );
    await hidden.look();
    hidden.begin(0);
  });

  /** What is found when the directory has this size, after somebody wrote or freed this much. */
  async function hiddenAfter(change: number, namedBytes = 0): Promise<number> {
    used += change;
    await hidden.look();
    return hidden.bytes(namedBytes, limit);
  }

  test("counts nothing while the directory and what is missing fit the limit", async () => {
    expect(await hiddenAfter(limit / 2)).toBe(0);
    expect(await hiddenAfter(limit / 2, limit)).toBe(0);
    expect(counts).toBe(0);
  });

  test("counts as soon as more space is missing than the limit allows", async () => {
    answer = { bytes: limit * 1.2, coverage: "complete" };
    expect(await hiddenAfter(limit * 1.2)).toBe(limit * 1.2);
  });

  test("believes a complete count: another program used the space", async () => {
    expect(await hiddenAfter(limit * 2)).toBe(0);
    expect(await hiddenAfter(limit / 2)).toBe(0);
    expect(counts).toBe(1);
  });

  test("counts again soon after a count that a loaded machine made slow", async () => {
    countMs = 1_500;
    expect(await hiddenAfter(limit * 2)).toBe(0);
    answer = { bytes: limit * 1.2, coverage: "complete" };
    clockMs += 1_900;
    expect(await hiddenAfter(limit * 1.2)).toBe(0);
    clockMs += 200;
    expect(await hiddenAfter(0)).toBe(limit * 1.2);
  });

  test("takes what is missing for the cell's if three counts in a row are not complete", async () => {
    answer = { bytes: 0, coverage: "partial" };
    for (const _ of ["the first count", "the second"])
      expect(await hiddenAfter(limit * 1.2, limit * 0.1)).toBeLessThanOrEqual(limit);
    expect(await hiddenAfter(limit * 1.2, limit * 0.1)).toBeGreaterThan(limit);
  });

  test("takes what is missing for the cell's at once if descriptors are parked in a socket", async () => {
    answer = { bytes: 0, coverage: "parked" };
    expect(await hiddenAfter(limit * 1.2)).toBeGreaterThan(limit);
    expect(counts).toBe(1);
  });

  test("space that another program frees hides nothing that is written later", async () => {
    expect(await hiddenAfter(-limit * 3)).toBe(0);
    answer = { bytes: limit * 1.2, coverage: "complete" };
    expect(await hiddenAfter(limit * 1.2)).toBe(limit * 1.2);
  });

  test("finds what was hidden while another program freed as much", async () => {
    answer = { bytes: limit * 1.2, coverage: "complete" };
    for (let step = 0; step < 8; step++) {
      used -= limit * 0.15; // the other program, and then the cell, between two looks
      await hidden.hasGrown(limit);
      used += limit * 0.15;
      await hidden.hasGrown(limit);
    }
    expect(await hiddenAfter(0)).toBe(limit * 1.2);
  });

  test("counts rarely for space that is freed again and again, and that nobody hides", async () => {
    for (let step = 0; step < 50; step++) {
      await hiddenAfter(-limit * 1.5);
      await hiddenAfter(limit * 0.1);
      clockMs += 100;
    }
    expect(counts).toBe(1);
  });

  test("counts once in a minute in which anybody wrote, even if nothing is missing", async () => {
    answer = { bytes: limit * 1.2, coverage: "complete" };
    clockMs += 60_000;
    expect(await hiddenAfter(0)).toBe(0);
    expect(await hiddenAfter(2 ** 20)).toBe(limit * 1.2);
    expect(counts).toBe(1);
  });

  test("files of the last count that may be gone do not end a cell before the next count", async () => {
    answer = { bytes: limit * 0.9, coverage: "complete" };
    await hiddenAfter(limit * 1.2);
    expect(await hiddenAfter(0, limit * 0.5)).toBeLessThanOrEqual(limit * 0.5);
    clockMs += 1000;
    expect(await hiddenAfter(0, limit * 0.5)).toBe(limit * 0.9);
  });

  test("asks for an early look after a part of what is left was written", async () => {
    expect(await hidden.hasGrown(limit)).toBe(false);
    used += limit / 4;
    expect(await hidden.hasGrown(limit)).toBe(true);
  });

  test("asks for an early look if another program frees as much as is written", async () => {
    for (const change of [-limit / 4, limit / 4]) {
      used += change;
      expect(await hidden.hasGrown(limit)).toBe(change > 0);
    }
  });
});
