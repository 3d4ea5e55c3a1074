import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { FakeRunner } from "../../test/fakes/fake-runner.ts";
import { silentAudit } from "../audit/audit.ts";
import { Codecell } from "./codecell.ts";

test("a session whose save cannot be read now starts no run, closes its cell, keeps its save and can be tried again", async () => {
  const stateDir = await mkdtemp(join(tmpdir(), "codecell-restore-"));
  try {
    const directory = join(stateDir, "sessions", "kept");
    const snapshot = { sha256: "ab".repeat(32), bytes: 0, savedMs: 1, run: 1, python: "3.99.0", runner: "wasm" };
    const record = {
      ...{ version: 1, id: "kept", workspace: "w", createdMs: 1, usedMs: 1, runs: 1 },
      ...{ snapshot: { ...snapshot, saved: ["x"], skipped: [] }, unreported: ["an older loss"] },
    };
    await mkdir(join(directory, `snapshot-${"ab".repeat(16)}.bin`), { recursive: true, mode: 0o700 }); // cannot be read
    await writeFile(join(directory, "session.json"), JSON.stringify(record));
    const runner = new FakeRunner();
    const policy = { session: { persist: true }, audit: { enabled: false } };
    const codecell = await Codecell.open({
      policy,
      stateDir,
      runtimeDir: stateDir,
      runners: [runner],
      audit: silentAudit,
    });
    const session = await codecell.session("kept");
    for (const _ of ["first", "second"]) {
      await expect(session.run("x")).rejects.toMatchObject({
        message: expect.stringContaining("session kept could not be restored"),
        hint: expect.stringContaining("its save is unchanged: try again"),
      });
      expect(runner.openCells).toBe(0);
    }
    await codecell.close();
    const { snapshot: kept, unreported } = JSON.parse(await readFile(join(directory, "session.json"), "utf8"));
    expect({ snapshot: kept, unreported }).toEqual({ snapshot: record.snapshot, unreported: record.unreported });
  } finally {
    await rm(stateDir, { recursive: true, force: true });
  }
});
