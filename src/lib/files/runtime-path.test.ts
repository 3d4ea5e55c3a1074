import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { privateRuntimePath, runtimePath } from "./runtime-path.ts";

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "codecell-rt-"));
});
afterEach(() => rm(directory, { recursive: true }));

test("a user's runtime directory is in XDG_RUNTIME_DIR, or in /tmp", async () => {
  expect(runtimePath(1000, directory)).toBe(join(directory, "codecell"));
  expect(runtimePath(1000, undefined)).toBe("/tmp/codecell-1000");
});

test("a relative XDG_RUNTIME_DIR is ignored, so that nothing is kept below the working directory", () => {
  expect(runtimePath(1000, "relative")).toBe("/tmp/codecell-1000");
  expect(privateRuntimePath(1000, "relative")).toBeUndefined();
});

test.skipIf(process.getuid?.() !== 0)(
  "root uses XDG_RUNTIME_DIR only if cells of another uid may enter it",
  async () => {
    await chmod(directory, 0o755);
    expect(runtimePath(0, directory)).toBe(join(directory, "codecell"));
    for (const mode of [0o700, 0o777]) {
      await chmod(directory, mode);
      expect(runtimePath(0, directory)).toBe("/run/codecell");
    }
    expect(runtimePath(0, join(directory, "none"))).toBe("/run/codecell");
    expect(runtimePath(0, undefined)).toBe("/run/codecell");
  },
);
