import { mkdtemp, readdir, rm, stat, truncate } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { appendHistory, lastRunIn, readHistory } from "./session-history.ts";

let directory: string;
let path: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "cc-history-"));
  path = join(directory, "history.jsonl");
});
afterEach(() => rm(directory, { recursive: true, force: true }));

const entry = (run: number) => ({
  run,
  atMs: 1,
  language: "python",
  code: "x".repeat(100),
  status: "ok",
  durationMs: 1,
});
const runs = async (limit: number) => (await readHistory(path, limit)).map(({ run }) => run);

describe("the history of a session", () => {
  test("the history stays small however long the session lives, and ends with its last run", async () => {
    for (let run = 1; run <= 200; run++) await appendHistory(path, entry(run), 2_000);
    const sizes = (await readdir(directory)).map(async (name) => (await stat(join(directory, name))).size);
    expect((await Promise.all(sizes)).reduce((sum, size) => sum + size)).toBeLessThan(5_000);
    expect(await runs(3)).toEqual([198, 199, 200]);
    const kept = await runs(1_000);
    expect(kept).toEqual(kept.map((_, at) => 200 - kept.length + 1 + at));
    expect(kept.length).toBeGreaterThan(8);
  });

  test("the history skips an entry that a crash left incomplete, and keeps those after it", async () => {
    await appendHistory(path, entry(1));
    await appendHistory(path, entry(2));
    await truncate(path, (await stat(path)).size - 20);
    await appendHistory(path, entry(3));
    expect(await runs(10)).toEqual([1, 3]);
  });

  test("the last run of the history is known, whatever its size, and also if a crash left its entry incomplete", async () => {
    await appendHistory(path, entry(1));
    await appendHistory(path, { ...entry(12), code: '\n{"run":99,'.repeat(20_000) });
    expect(await lastRunIn(path)).toBe(12);
    await appendHistory(path, entry(13));
    await truncate(path, (await stat(path)).size - 60);
    expect(await runs(1)).toEqual([]);
    expect(await lastRunIn(path)).toBe(13);
    await appendHistory(path, entry(14), 10);
    expect(await readdir(directory)).toEqual(["history.jsonl.older"]);
    expect(await lastRunIn(path)).toBe(14);
  });

  test("the history is empty if nothing was written", async () => {
    expect(await runs(10)).toEqual([]);
    expect(await lastRunIn(path)).toBe(0);
  });
});
