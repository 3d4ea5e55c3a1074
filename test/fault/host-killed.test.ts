import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync } from "node:fs";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { leftBehind } from "../support/left-behind.ts";
import { eventually, idle, skipsProcess } from "../support/process-cells.ts";

const rounds = 24;
const script = fileURLToPath(new URL("host.mjs", import.meta.url));
const built = fileURLToPath(new URL("../../dist/runners/process/runner.js", import.meta.url));

describe.skipIf(skipsProcess)("a host that is killed", () => {
  let runtimeDir: string;
  const hosts = new Set<ChildProcess>();
  beforeAll(async () => {
    if (!existsSync(built)) throw new Error("this test runs the built package: npm run build");
    runtimeDir = await mkdtemp(join(tmpdir(), "cc-fault-"));
    await chmod(runtimeDir, 0o711);
  });
  afterAll(async () => {
    for (const host of hosts) host.kill("SIGKILL");
    await rm(runtimeDir, { recursive: true, force: true });
  });

  test.each(["template", "direct"])(
    "at %i random moments leaves no process, cgroup or directory (%s layout)".replace("%i", String(rounds / 2)),
    async (layout) => {
      for (let round = 0; round < rounds / 2; round++) {
        const mark = `killed-${process.pid}-${layout}-${round}`;
        const host = spawn(process.execPath, [script, layout, runtimeDir, mark], {
          stdio: ["ignore", "pipe", "inherit"],
        });
        hosts.add(host);
        const exited = once(host, "exit");
        // some die while they set up, most with cells at every stage of their life
        if (round % 4 > 0) await Promise.race([once(host.stdout, "data"), exited]);
        await idle(round % 4 > 0 ? 20 + Math.random() * 400 : Math.random() * 250);
        const tags = readdirSync(runtimeDir).filter((name) => name.startsWith("cc"));
        expect(host.exitCode).toBeNull();
        host.kill("SIGKILL");
        await exited;
        hosts.delete(host);
        const left = () => ({
          ...leftBehind([mark, ...tags]),
          directories: readdirSync(runtimeDir).filter((name) => name.startsWith("cc")),
        });
        const isClean = () => Object.values(left()).every((list) => list.length === 0);
        if (!(await eventually(isClean, 5_000)))
          expect(left()).toEqual({ processes: [], cgroups: [], directories: [] });
      }
    },
  );
});
