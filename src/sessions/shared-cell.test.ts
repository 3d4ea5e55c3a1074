import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
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
