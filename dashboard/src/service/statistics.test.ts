import { expect, test } from "vitest";
import type { StatisticsSample } from "../../../src/service/wire/statistics.ts";
import { runsByStatus, withSample } from "./statistics.ts";

function sample(second: number, runs: Record<string, number> = {}): StatisticsSample {
  return { at: new Date(second * 1000).toISOString(), runs } as unknown as StatisticsSample;
}

test("a newer sample is added, an older one is not, and an hour is kept", () => {
  let samples: readonly StatisticsSample[] = [sample(1)];
  expect(withSample(samples, sample(1))).toBe(samples);
  for (let second = 2; second < 1000; second++) samples = withSample(samples, sample(second));
  expect(samples).toHaveLength(720);
  expect(samples.at(-1)).toEqual(sample(999));
});

test("every status that occurs has a curve in runs per second", () => {
  const curves = runsByStatus([sample(1, { ok: 10 }), sample(2, { error: 5 })], 5000);
  expect(curves.map(({ name, values }) => [name, ...values])).toEqual([
    ["ok", 2, 0],
    ["error", 0, 1],
  ]);
});
