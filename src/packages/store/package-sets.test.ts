import { mkdir, readdir, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { PackageLab } from "../../../test/support/packages/package-lab.ts";
import { listPackageSets, prunePackages } from "./package-sets.ts";

const day = 24 * 3_600_000;

test("sets are listed with their packages and sizes, the last used one first", async () => {
  await using lab = await PackageLab.open();
  lab.index.add({ name: "a", version: "1" });
  lab.index.add({ name: "b", version: "1" });
  expect(await listPackageSets(lab.cacheDir)).toEqual([]);
  const [a, b] = [await lab.prepare("a"), await lab.prepare("b")];
  await utimes(join(lab.cacheDir, "sets", b.key, "set.json"), 1, 1);
  const listed = await listPackageSets(lab.cacheDir);
  expect(listed.map(({ key, directory, packages }) => ({ key, directory, packages }))).toEqual(
    [a, b].map(({ key, directory, packages }) => ({ key, directory, packages })),
  );
  expect(listed[0]?.bytes).toBeGreaterThan(100);
});

test("pruning removes what was not used for long, and keeps the rest usable without an index", async () => {
  await using lab = await PackageLab.open();
  for (const name of ["old", "new"]) lab.index.add({ name, version: "1" });
  const [old, kept] = [await lab.prepare("old==1"), await lab.prepare("new==1")];
  const nowMs = Date.now() + 40 * day;
  await utimes(join(lab.cacheDir, "sets", kept.key, "set.json"), nowMs / 1000, nowMs / 1000);
  await mkdir(join(lab.cacheDir, "sets", ".draft-0123"));
  await writeFile(join(lab.cacheDir, "wheels", ".draft-4567"), "half a wheel");
  const pruned = await prunePackages(lab.cacheDir, { olderThanMs: 30 * day, nowMs });
  expect(pruned).toMatchObject({ sets: [{ key: old.key }], wheels: 1 });
  expect(await lab.setNames()).toEqual([kept.key]);
  expect((await readdir(join(lab.cacheDir, "wheels"))).length).toBe(1);
  lab.index.forget();
  expect((await lab.prepare("new==1")).fromCache).toBe(true);
  expect(lab.index.requests).toEqual([]);
  await expect(lab.prepare("old==1", { offline: true })).rejects.toMatchObject({ details: { reason: "offline" } });
  expect((await lab.prepare("old==1")).key).toBe(old.key);
});

test("pruning disturbs nobody who prepares packages at the moment", async () => {
  await using lab = await PackageLab.open();
  lab.index.add({ name: "a", version: "1" });
  await lab.prepare("a");
  await mkdir(join(lab.cacheDir, "sets", ".draft-0123"));
  expect(await prunePackages(lab.cacheDir, { olderThanMs: day })).toEqual({ sets: [], wheels: 0, bytes: 0 });
  expect((await lab.setNames()).length).toBe(2);
});
