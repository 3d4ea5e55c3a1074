import { expect, test } from "vitest";
import { MemoryHistory } from "./memory-history.ts";

const entry = (run: number) => ({ run, atMs: run, language: "python", code: "1234", status: "ok", durationMs: 1 });
const outputs = { events: [], value: "1", error: undefined, leftOutBytes: 0 };

test("a history in memory lists the latest runs, with outputs only if asked", () => {
  const history = new MemoryHistory();
  history.append(entry(1), outputs, 10);
  history.append(entry(2), undefined, 0);
  expect(history.list(10, false)).toEqual([entry(1), entry(2)]);
  expect(history.list(10, true)).toMatchObject([{ outputs: { value: "1" } }, { outputs: { events: [] } }]);
  expect(history.list(1, false)).toEqual([entry(2)]);
});

test("a history in memory drops the oldest runs when there are too many, or their code is too long", () => {
  const few = new MemoryHistory({ outputBytes: 1_000, codeBytes: 1_000, runs: 3 });
  for (const run of [1, 2, 3, 4, 5]) few.append(entry(run), undefined, 0);
  expect(few.list(10, false).map(({ run }) => run)).toEqual([3, 4, 5]);
  const short = new MemoryHistory({ outputBytes: 1_000, codeBytes: 8, runs: 100 });
  for (const run of [1, 2, 3]) short.append(entry(run), undefined, 0);
  expect(short.list(10, false).map(({ run }) => run)).toEqual([2, 3]);
  short.append({ ...entry(4), code: "longer than the limit" }, undefined, 0);
  expect(short.list(10, false).map(({ run }) => run)).toEqual([4]);
});

test("a history in memory keeps the latest runs of any number of them", () => {
  const few = new MemoryHistory({ outputBytes: 1_000, codeBytes: 1_000, runs: 3 });
  const kept = Array.from({ length: 1_000 }, (_, index) => {
    few.append(entry(index + 1), outputs, 10);
    return few.list(10, true).length;
  });
  expect(new Set(kept.slice(2))).toEqual(new Set([3]));
  expect(few.list(10, true)).toMatchObject([998, 999, 1_000].map((run) => ({ run, outputs: { value: "1" } })));
});

test("a history in memory drops the oldest outputs when they are too large, and says how much is missing", () => {
  const small = new MemoryHistory({ outputBytes: 1_000, codeBytes: 1_000, runs: 100 });
  for (const run of [1, 2, 3]) small.append(entry(run), outputs, 400);
  expect(small.list(10, true)).toMatchObject([
    { run: 1, outputs: { value: undefined, leftOutBytes: 400 } },
    { run: 2, outputs: { value: "1", leftOutBytes: 0 } },
    { run: 3, outputs: { value: "1", leftOutBytes: 0 } },
  ]);
  small.append(entry(4), { ...outputs, leftOutBytes: 7 }, 5_000);
  expect(small.list(1, true)).toMatchObject([{ run: 4, outputs: { value: undefined, leftOutBytes: 5_007 } }]);
});
