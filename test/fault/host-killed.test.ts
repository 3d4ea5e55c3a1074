import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually, hostProcesses, idle, skipsProcess } from "../support/process-cells.ts";

const rounds = 24;
/** Each round starts a host, on a machine that may be busy with other tests. */
const roundMs = 10_000;
const script = fileURLToPath(new URL("host.mjs", import.meta.url));
const built = fileURLToPath(new URL("../../dist/runners/process/runner.js", import.meta.url));
const cgroupRoots = readFileSync("/proc/self/mountinfo", "utf8")
  .split("\n")
  .filter((line) => / - cgroup2? /.test(line))
  .map((line) => line.split(" ")[4] as string);

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
          processes: hostProcesses()
            .filter(({ command }) => command.includes(mark) || tags.some((tag) => command.includes(tag)))
            .map(({ command }) => command.slice(0, 200)),
          cgroups: cgroupRoots.flatMap((root) => groupsNamed(root, tags)),
          directories: readdirSync(runtimeDir).filter((name) => name.startsWith("cc")),
        });
        const isClean = () => Object.values(left()).every((list) => list.length === 0);
        if (!(await eventually(isClean))) expect(left()).toEqual({ processes: [], cgroups: [], directories: [] });
      }
    },
    (rounds / 2) * roundMs,
  );
});

/** Groups that a host made, wherever its own group is. */
function groupsNamed(root: string, tags: readonly string[], depth = 4): string[] {
  if (depth === 0 || tags.length === 0) return [];
  try {
    return readdirSync(root, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .flatMap(({ name }) => {
        const path = join(root, name);
        return [...(tags.some((tag) => name.startsWith(tag)) ? [path] : []), ...groupsNamed(path, tags, depth - 1)];
      });
  } catch {
    return []; // it was removed while we looked
  }
}
