import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { readHostFacts } from "./host-facts.ts";
import { probeBubblewrap, trialMs } from "./probe.ts";

test("probeBubblewrap reports which layouts work, or a reason and a fix", async () => {
  const probe = await probeBubblewrap(trialMs.patient);
  if (probe.available) {
    expect(probe.version).toMatch(/^\d+\.\d+/);
    expect(probe.layouts.template || probe.layouts.direct).toBe(true);
  } else {
    expect(probe.reason).not.toBe("");
    expect(probe.hint).not.toBe("");
  }
});

test.runIf(process.platform === "linux")(
  "probeBubblewrap times out if bubblewrap hangs, and its quick timeout is under two seconds",
  async () => {
    expect(trialMs.quick).toBeLessThan(2_000);
    const facts = { ...(await readHostFacts()), bubblewrap: await program("exec sleep 1000") };
    const probe = await probeBubblewrap(100, facts);
    expect(probe).toMatchObject({ available: false, reason: expect.stringContaining("timed out after 0.1 s") });
  },
);

test.runIf(process.platform === "linux")(
  "probeBubblewrap waits longer for a busy machine with the patient timeout",
  async () => {
    const bubblewrap = await program(`sleep ${trialMs.quick / 1000 + 0.2}; echo bubblewrap 1.2.3`);
    const facts = { ...(await readHostFacts()), bubblewrap };
    expect(await probeBubblewrap(trialMs.patient, facts)).toMatchObject({ available: true, version: "1.2.3" });
  },
);

/** A fake bubblewrap that any uid may run. */
async function program(body: string): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "codecell-probe-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  await chmod(directory, 0o755);
  const path = join(directory, "bwrap");
  await writeFile(path, `#!/bin/sh\n${body}\n`, { mode: 0o755 });
  return path;
}
