import { chmod, mkdtemp } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, inject, test } from "vitest";
import { Codecell } from "../../src/sessions/codecell.ts";
import { mountsBelow, noExactDisk, withExactDisk } from "../support/exact-disk.ts";
import { newStateDir, removeStateDir, runIn } from "../support/managers.ts";
import { isThorough } from "../support/thorough.ts";
import { containerTiers, isMissing } from "../support/tiers.ts";

const limit = 16 * 2 ** 20;
const policy = { proc: { timeout: "60s", disk: "16MiB", exactDisk: true } } as const;
const { mountable } = inject("containers");

/** The host makes and mounts the disk, and the engine passes it on: Podman and gVisor get the same request as Docker's own runtime. */
for (const tier of containerTiers.filter(({ name }) => name === "docker" || (isThorough && name === "gvisor"))) {
  describe.skipIf((await isMissing(tier)) || noExactDisk)(withExactDisk(`proc.exactDisk on ${tier.name}`), () => {
    test("named and nameless files end with ENOSPC at the limit, and the session goes on", async () => {
      const stateDir = await mkdtemp(join(mountable, "state-"));
      await chmod(stateDir, 0o711);
      const codecell = await Codecell.open({ policy, runners: [tier.make()], stateDir });
      const session = await codecell.session();
      const code = `
import os
def fill(open_next):
    stored, files = 0, []
    try:
        while True:
            files.append(open_next(len(files)))
            stored += os.write(files[-1], bytes(1 << 18))
    except OSError as error: print(stored, error.errno)
    for file in files: os.close(file)
fill(lambda n: os.open(f"file{n}", os.O_CREAT | os.O_RDWR))
for name in os.listdir("."): os.remove(name)
fill(lambda n: (os.open(f"gone{n}", os.O_CREAT | os.O_RDWR), os.remove(f"gone{n}"))[0])
x = open("after", "w").write("x")`;
      const { status, stdout, notes } = await runIn(session, code);
      const told = stdout
        .trim()
        .split("\n")
        .map((line) => line.split(" ").map(Number));
      expect({ status, notes, errors: told.map(([, errno]) => errno) }).toEqual({
        status: "ok",
        notes: [],
        errors: [28, 28],
      });
      for (const [stored = 0] of told) {
        expect(stored).toBeLessThanOrEqual(limit);
        expect(stored).toBeGreaterThan(limit * 0.95);
      }
      expect((await session.receipt()).rules.find(({ rule }) => rule === "proc.disk")?.by).toBe("os");
      await codecell.close();
      expect(await mountsBelow(stateDir)).toEqual([]);
      await removeStateDir(stateDir);
    });

    test("an engine that does not see the disk starts no cell without a limit", async () => {
      const stateDir = await newStateDir(); // the engine's mount namespace does not get what is mounted here
      const codecell = await Codecell.open({ policy, runners: [tier.make()], stateDir });
      await expect(codecell.session()).rejects.toThrow("the engine does not see the disk of the session");
      await codecell.close();
      expect(await mountsBelow(stateDir)).toEqual([]);
      await removeStateDir(stateDir);
    });
  });
}
