import { expect, test } from "vitest";
import { HashCache } from "../../artifacts/hash-cache.ts";
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

test.each([true, false, undefined])(
  "the digest of a file is remembered only if its next change has another version (settling: %s)",
  async (settling) => {
    const file = { size: 3, modifiedMs: 7, version: "1", ...(settling === undefined ? {} : { settling }) };
    const cell = { read: async () => ({ data: Buffer.alloc(0), file }) } as unknown as CellFiles;
    const opened = await kernelFiles(cell).open("out.csv");
    const cache = new HashCache();
    const digest = { sha256: "0", head: new Uint8Array() };
    cache.set(opened, digest);
    expect(cache.get(opened)).toBe(settling ? undefined : digest);
  },
);
