import { expect, test } from "vitest";
import type { CellFiles } from "../../kernel/cell-files.ts";
import { kernelFiles } from "./kernel-files.ts";

test("files of two cells have different identities, even if the cells describe them alike", async () => {
  const file = { size: 3, modifiedMs: 7, version: "1" };
  const cell = { read: async () => ({ data: Buffer.alloc(0), file }) } as unknown as CellFiles;
  const [one, other] = [kernelFiles(cell), kernelFiles(cell)];
  const identities = await Promise.all([one, one, other].map(async (files) => (await files.open("out.csv")).identity));
  expect(identities[0]).toBe(identities[1]);
  expect(identities[0]).not.toBe(identities[2]);
});
