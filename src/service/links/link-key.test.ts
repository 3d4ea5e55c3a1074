import { chmod, mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openLinkKey } from "./link-key.ts";

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "cc-key-"));
});
afterEach(() => rm(directory, { recursive: true }));

test("services with the same state directory share a link key, even if they start concurrently", async () => {
  const keys = await Promise.all([1, 2, 3, 4].map(() => openLinkKey(directory)));
  const [first] = keys;
  expect(first?.byteLength).toBe(32);
  for (const key of [...keys, await openLinkKey(directory)]) expect(key).toEqual(first);
  expect(await readdir(directory)).toEqual(["link-key"]);
  expect((await stat(join(directory, "link-key"))).mode & 0o777).toBe(0o600);
});

test("a link key that others can read, or that is damaged, is refused", async () => {
  await openLinkKey(directory);
  await chmod(join(directory, "link-key"), 0o644);
  await expect(openLinkKey(directory)).rejects.toThrow(/can be read by others/);
  await chmod(join(directory, "link-key"), 0o600);
  await writeFile(join(directory, "link-key"), "short");
  await expect(openLinkKey(directory)).rejects.toThrow(/is not a valid key/);
});
