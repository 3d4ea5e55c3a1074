import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { usedSpace } from "./directory-size.ts";

test("the used space of a directory that does not exist yet is that of its parent's file system", async () => {
  const directory = await mkdtemp(join(tmpdir(), "cc-size-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  const { isPrompt } = await usedSpace(directory);
  const missing = await usedSpace(join(directory, "new"));
  expect(missing).toEqual({ bytes: expect.any(Number), isPrompt });
  expect(missing.bytes).toBeGreaterThan(0);
});

test("the used space of a directory without a parent is unknown", async () => {
  const missing = join(tmpdir(), "cc-size-nowhere", "new");
  await expect(usedSpace(missing)).rejects.toMatchObject({ code: "ENOENT" });
});
