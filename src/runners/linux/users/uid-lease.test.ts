import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { leaseUids, type UidLease } from "./uid-lease.ts";

const range = { first: 1_000_000, count: 6_400 };
let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "uid-lease-"));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

const lease = async (seed = "a"): Promise<UidLease> => {
  const found = await leaseUids(range, directory, seed);
  if (!found) throw new Error("no block is free");
  return found;
};

test("two processes never lease the same uids, even with the same seed", async () => {
  await using one = await lease();
  await using other = await lease();
  expect(other.cells.first).toBeGreaterThanOrEqual(one.cells.first + one.cells.count);
});

test("a process that starts again gets the block that it had", async () => {
  const first = await lease();
  const { cells } = first;
  await first[Symbol.asyncDispose]();
  await using again = await lease();
  expect(again.cells).toEqual(cells);
});

test("a lease that is given back leaves no file behind", async () => {
  await (await lease())[Symbol.asyncDispose]();
  expect(await readdir(directory)).toEqual([]);
});

test("locks that killed processes left behind are removed before they become many", async () => {
  for (let block = 0; block < 20; block++) await writeFile(join(directory, String(block)), "");
  await using _ = await lease();
  expect(await readdir(directory)).toHaveLength(1);
});

test("there is no lease if every block is in use", async () => {
  const leases = await Promise.all(Array.from({ length: 32 }, () => lease()));
  expect(new Set(leases.map(({ nobody }) => nobody)).size).toBe(32);
  expect(await leaseUids(range, directory, "b")).toBeUndefined();
  await Promise.all(leases.map((one) => one[Symbol.asyncDispose]()));
});

test("every cell gets another uid until all are in use, and none is a template's or nobody's", async () => {
  await using one = await lease();
  const cells = Array.from({ length: one.cells.count }, () => one.takeForCell());
  expect(new Set(cells).size).toBe(one.cells.count);
  expect(one.takeForCell()).toBeUndefined();
  const template = one.takeForTemplate();
  expect(cells).not.toContain(template);
  expect([...cells, template]).not.toContain(one.nobody);
  one.giveBack(cells[3] as number);
  expect(one.takeForCell()).toBe(cells[3]);
});

test("a cell gets the uid that owns its files if it is free and in the block", async () => {
  await using one = await lease();
  const wanted = one.cells.first + 7;
  expect(one.takeForCell(wanted)).toBe(wanted);
  expect(one.takeForCell(wanted)).not.toBe(wanted);
  expect(one.takeForCell(0)).not.toBe(0);
  expect(one.takeForCell(one.nobody)).not.toBe(one.nobody);
});
