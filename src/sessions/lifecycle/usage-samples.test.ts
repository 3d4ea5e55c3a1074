import { expect, test } from "vitest";
import { UsageSamples } from "./usage-samples.ts";

const used = (cpuMs: number | undefined, memoryBytes = 1) => {
  return { cpuMs, memoryBytes, peakMemoryBytes: undefined, oomKills: 0 };
};

test("the processor time of a sample is that since the previous one, in percent of one processor", () => {
  const samples = new UsageSamples();
  samples.add(used(100), 0, 0);
  samples.add(used(1_100), 1_000, 1_000);
  samples.add(used(1_350, 7), 2_000, 2_000);
  expect(samples.list).toEqual([
    { atMs: 0, cpuPercent: undefined, memoryBytes: 1 },
    { atMs: 1_000, cpuPercent: 100, memoryBytes: 1 },
    { atMs: 2_000, cpuPercent: 25, memoryBytes: 7 },
  ]);
  expect(samples.usage).toEqual(used(1_350, 7));
});

test("samples of many runs in a row replace each other, and one of every half second stays", () => {
  const samples = new UsageSamples();
  for (let ms = 0; ms <= 2_000; ms += 10) samples.add(used(ms / 2), ms, ms);
  expect(samples.list.map(({ atMs }) => atMs)).toEqual([490, 990, 1_490, 1_990, 2_000]);
  expect(samples.list.map(({ cpuPercent }) => cpuPercent)).toEqual([50, 50, 50, 50, 50]);
});

test("the number of samples is limited, and the oldest are dropped", () => {
  const samples = new UsageSamples({ samples: 3, gapMs: 500 });
  for (let second = 0; second < 5; second++) samples.add(used(undefined), second * 1_000, second * 1_000);
  expect(samples.list.map(({ atMs }) => atMs)).toEqual([2_000, 3_000, 4_000]);
  expect(samples.latest).toEqual({ atMs: 4_000, cpuPercent: undefined, memoryBytes: 1 });
});
