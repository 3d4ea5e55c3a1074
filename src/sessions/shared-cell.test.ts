import { PassThrough } from "node:stream";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { Cleanup } from "../lib/cleanup.ts";
import { CodecellError } from "../lib/errors.ts";
import { parsePolicy } from "../policy/file/parse-policy.ts";
import { ChannelCell, type ChannelCellParts, noUsage } from "../runners/channel-cell.ts";
import type { EnforcementReceipt } from "../runners/receipt.ts";
import type { Cell, CellExit } from "../runners/runner.ts";
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

test("why the host ends a cell is known although the cell has not exited yet", async () => {
  let exit: (exit: CellExit) => void = () => {};
  const exited = new Promise<CellExit>((resolve) => {
    exit = resolve;
  });
  const ended = new ChannelCell({
    ...{ id: "slow", channel: new PassThrough(), exited, usage: async () => noUsage, kill: () => {} },
    ...({ setup: {}, receipt: {}, cleanup: new Cleanup() } as unknown as ChannelCellParts),
  });
  const cell = new SharedCell(ended, {} as EnforcementReceipt, parsePolicy({}));
  const reason = new CodecellError("cell_lost", "its files exceed proc.disk (8MiB)");
  const ending = ended.endFor(reason);
  expect(await cell.whyEnded()).toBe(reason);
  exit({ code: 0, signal: null, diagnostics: "" });
  await ending;
});

describe("a cell whose runner cannot count", () => {
  const inside = { memoryBytes: 70, peakMemoryBytes: 90, cpuMs: 5 };
  const counted = (ask: () => Promise<typeof inside>) => {
    const cell = { usage: async () => ({ ...noUsage, oomKills: 2 }) } as unknown as Cell;
    return new SharedCell(cell, {} as EnforcementReceipt, parsePolicy({}), undefined, undefined, ask);
  };

  test("is asked what it uses when somebody looks, and not after each run", async () => {
    const ask = vi.fn(async () => inside);
    const cell = counted(ask);
    await cell.spent();
    expect(ask).not.toHaveBeenCalled();
    expect(cell.samples.list).toEqual([]);
    expect(await cell.usage()).toEqual({ ...inside, oomKills: 2 });
    expect((await cell.measure())?.memoryBytes).toBe(70);
  });

  test("is not waited for if its supervisor does not answer or is lost", async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const asked = counted(() => new Promise(() => {})).usage();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await asked).toEqual({ ...noUsage, oomKills: 2 });
    const lost = counted(async () => {
      throw new CodecellError("cell_lost", "the cell exited");
    });
    expect(await lost.usage()).toEqual({ ...noUsage, oomKills: 2 });
  });
});
