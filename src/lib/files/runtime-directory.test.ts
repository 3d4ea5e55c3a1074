import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { defaultPath } from "./runtime-directory.ts";

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "codecell-rt-"));
});
afterEach(() => rm(directory, { recursive: true }));

test("a user's runtime directory is in XDG_RUNTIME_DIR, or in /tmp", async () => {
  expect(await defaultPath(1000, directory)).toBe(join(directory, "codecell"));
  expect(await defaultPath(1000, undefined)).toBe("/tmp/codecell-1000");
});

test.skipIf(process.getuid?.() !== 0)(
  "root uses XDG_RUNTIME_DIR only if cells of another uid may enter it",
  async () => {
    await chmod(directory, 0o755);
    expect(await defaultPath(0, directory)).toBe(join(directory, "codecell"));
    for (const mode of [0o700, 0o777]) {
      await chmod(directory, mode);
      expect(await defaultPath(0, directory)).toBe("/run/codecell");
    }
    expect(await defaultPath(0, join(directory, "none"))).toBe("/run/codecell");
    expect(await defaultPath(0, undefined)).toBe("/run/codecell");
  },
);
