import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { probeBubblewrap } from "./bubblewrap.ts";
import { childIdentity } from "./child-identity.ts";

// Otherwise all cells of this host process would lack their second barrier.
test.runIf(process.platform === "linux")("bubblewrap is found on a busy machine too", async () => {
  const directory = await mkdtemp(join(tmpdir(), "codecell-slow-bwrap-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  await chmod(directory, 0o755);
  await writeFile(join(directory, "bwrap"), "#!/bin/sh\nsleep 2\n", { mode: 0o755 });
  const found = await probeBubblewrap(process.execPath, childIdentity([process.execPath]), directory);
  expect(found).toMatchObject({ program: join(directory, "bwrap"), disablesNamespaces: true });
});
