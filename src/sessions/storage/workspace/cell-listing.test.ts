import { expect, test } from "vitest";
import type { CellFiles } from "../../../kernel/cell-files.ts";
import { listCell } from "./cell-listing.ts";

test("a cell that sends its files one page each is not asked for ever, and its list counts as incomplete", async () => {
  let pages = 0;
  const list = async () => {
    const path = `file-${++pages}`;
    return { files: [{ path, size: 0, modifiedMs: 0 }], next: path, leftOut: 0, truncated: false };
  };
  const { files, isIncomplete } = await listCell({ list } as unknown as CellFiles);
  expect([pages, files.length, isIncomplete]).toEqual([16, 16, true]);
});
