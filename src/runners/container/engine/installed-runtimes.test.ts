import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { installedRuntimes } from "./installed-runtimes.ts";

test("runtimes that Podman lists but that are not installed are left out", async () => {
  const directory = await mkdtemp(join(tmpdir(), "cc-runtimes-"));
  try {
    await writeFile(join(directory, "runsc"), "");
    const named = {
      runsc: { path: join(directory, "runsc") },
      kata: { path: join(directory, "kata-runtime-of-nobody") },
      elsewhere: { path: "/nowhere/sh" }, // Podman reports only the first directory of its search
      "without a place": {},
    };
    expect(await installedRuntimes(named)).toEqual(["runsc", "elsewhere", "without a place"]);
  } finally {
    await rm(directory, { recursive: true });
  }
});
