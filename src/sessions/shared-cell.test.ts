import { expect, test } from "vitest";
import { parsePolicy } from "../policy/file/parse-policy.ts";
import type { EnforcementReceipt } from "../runners/receipt.ts";
import type { Cell } from "../runners/runner.ts";
import { SharedCell } from "./shared-cell.ts";

test("a memory kill is counted once, also if two ask at the same time", async () => {
  let oomKills = 0;
  const usage = async () => ({ memoryBytes: undefined, peakMemoryBytes: undefined, cpuMs: undefined, oomKills });
  const cell = new SharedCell({ usage } as unknown as Cell, {} as EnforcementReceipt, parsePolicy({}));
  expect(await cell.struckByMemoryKiller()).toBe(false);
  oomKills = 1;
  expect(await Promise.all([cell.struckByMemoryKiller(), cell.struckByMemoryKiller()])).toEqual([true, false]);
  expect(await cell.struckByMemoryKiller()).toBe(false);
});
