import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { FakeRunner } from "../../test/fakes/fake-runner.ts";
import { silentAudit } from "../audit/audit.ts";
import { CodecellError } from "../lib/errors.ts";
import { Codecell } from "./codecell.ts";

/** A saved session whose snapshot is a directory, so that it cannot be read now. */
async function begin() {
  const stateDir = await mkdtemp(join(tmpdir(), "codecell-restore-"));
  onTestFinished(() => rm(stateDir, { recursive: true, force: true }));
  const directory = join(stateDir, "sessions", "kept");
  const snapshot = { sha256: "ab".repeat(32), bytes: 0, savedMs: 1, run: 1, python: "3.99.0", runner: "wasm" };
  const record = {
    ...{ version: 1, id: "kept", workspace: "w", createdMs: 1, usedMs: 1, runs: 1 },
    ...{ snapshot: { ...snapshot, saved: ["x"], skipped: [] }, unreported: ["an older loss"] },
  };
  await mkdir(join(directory, `snapshot-${"ab".repeat(16)}.bin`), { recursive: true, mode: 0o700 });
  await writeFile(join(directory, "session.json"), JSON.stringify(record));
  const runner = new FakeRunner();
  const policy = { session: { persist: true }, audit: { enabled: false } };
  const places = { stateDir, runtimeDir: stateDir };
  const codecell = await Codecell.open({ policy, ...places, runners: [runner], audit: silentAudit });
  onTestFinished(() => codecell.close());
  const onDisk = async () => JSON.parse(await readFile(join(directory, "session.json"), "utf8"));
  return { codecell, session: await codecell.session("kept"), runner, record, onDisk };
}

test("a session whose save cannot be read now starts no run, closes its cell, keeps its save and can be tried again", async () => {
  const { codecell, session, runner, record, onDisk } = await begin();
  for (const _ of ["first", "second"]) {
    await expect(session.run("x")).rejects.toMatchObject({
      message: expect.stringContaining("session kept could not be restored"),
      hint: expect.stringContaining("its save is unchanged: try again"),
    });
    expect(runner.openCells).toBe(0);
  }
  await codecell.close();
  expect(await onDisk()).toMatchObject({ snapshot: record.snapshot, unreported: record.unreported });
});

test("a session whose save can never be restored works again after a reset, without its variables", async () => {
  const { session } = await begin();
  await expect(session.run("x")).rejects.toMatchObject({ hint: expect.stringContaining("or reset the session") });
  await session.reset();
  const { status, notes } = await session.run("x");
  expect([status, notes[0]]).toEqual(["ok", "an older loss"]);
});

test("what another process lost is told by the run that works, not forgotten by one that fails", async () => {
  const { session: lost } = await begin();
  lost.managed.adopted("its gateway was lost");
  const asked = vi.spyOn(lost.managed.store, "isUnsaved");
  asked.mockRejectedValueOnce(new CodecellError("service_unavailable", "the database is away"));
  await expect(lost.reset()).rejects.toMatchObject({ code: "service_unavailable" });
  await lost.reset();
  const { notes } = await lost.run("x");
  expect(notes).toEqual(expect.arrayContaining([expect.stringContaining("its gateway was lost")]));
});
