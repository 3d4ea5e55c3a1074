import { chmod, mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parsePolicy } from "../../src/policy/file/parse-policy.ts";
import { processRunner } from "../../src/runners/process/runner.ts";
import { LiveSessions } from "../../src/sessions/live-sessions.ts";
import { eventually, hostProcesses, run, skipsProcess } from "../support/process-cells.ts";

/** The running jails that this process has started. Those of earlier tests may still be exiting. */
const jails = () =>
  hostProcesses()
    .filter(({ command, status }) => command.includes("bwrap") && Number(status.PPid) === process.pid)
    .map(({ pid }) => pid);

test.skipIf(skipsProcess)(
  "a template whose directories were replaced exits with its last cell, not earlier",
  async () => {
    const root = await mkdtemp(join(tmpdir(), "cc-superseded-"));
    await chmod(root, 0o711);
    const source = join(root, "data");
    await mkdir(source);
    await writeFile(join(source, "which"), "first");
    const policy = parsePolicy({ fs: { mounts: [{ source, target: "/data", mode: "ro" }] } });
    try {
      await using codecell = await LiveSessions.open({ policy, runners: [processRunner()] });
      const earlier = new Set(jails());
      const templates = () => jails().filter((pid) => !earlier.has(pid));
      const first = await codecell.openSession();
      await rename(source, join(root, "replaced"));
      await mkdir(source);
      await writeFile(join(source, "which"), "second");
      await using second = await codecell.openSession();
      expect(await run(first, "open('/data/which').read()")).toMatchObject({ value: "'first'" });
      expect(await run(second, "open('/data/which').read()")).toMatchObject({ value: "'second'" });
      expect(templates()).toHaveLength(2);
      await first.close();
      expect(await eventually(() => templates().length === 1)).toBe(true);
      await using third = await codecell.openSession();
      expect(await run(third, "open('/data/which').read()")).toMatchObject({ value: "'second'" });
      expect(templates()).toHaveLength(1);
    } finally {
      await rm(root, { recursive: true, force: true });
    }
  },
);
