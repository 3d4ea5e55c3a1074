import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync } from "node:fs";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { processRunner } from "../../src/runners/process/runner.ts";
import { leftBehind } from "../support/left-behind.ts";
import { eventually, hostProcesses, idle, skipsProcess } from "../support/process-cells.ts";
import { isThorough } from "../support/thorough.ts";

/** of each layout: one host is killed during its setup, the others with cells in every stage */
const rounds = isThorough ? 12 : 4;
/** Each round starts a host, on a machine that may be busy with other tests. */
const roundMs = 10_000;
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
    "at %i random moments leaves no process, cgroup or directory (%s layout)".replace("%i", String(rounds)),
    async (layout) => {
      for (let round = 0; round < rounds; round++) {
        const mark = `killed-${process.pid}-${layout}-${round}`;
        const host = spawn(process.execPath, [script, layout, runtimeDir, mark], {
          stdio: ["ignore", "pipe", "inherit"],
        });
        hosts.add(host);
        const exited = once(host, "exit");
        // some are killed during setup, most with cells in every stage
        if (round % 4 > 0) await Promise.race([once(host.stdout, "data"), exited]);
        await idle(round % 4 > 0 ? 20 + Math.random() * 400 : Math.random() * 250);
        const tags = readdirSync(runtimeDir).filter((name) => /^cc[0-9a-f]{12}$/.test(name));
        expect(host.exitCode).toBeNull();
        host.kill("SIGKILL");
        await exited;
        hosts.delete(host);
        const left = () => ({
          ...leftBehind([mark, ...tags]),
          directories: readdirSync(runtimeDir).filter((name) => /^cc[0-9a-f]{12}$/.test(name)),
        });
        const isClean = () => Object.values(left()).every((list) => list.length === 0);
        if (!(await eventually(isClean))) expect(left()).toEqual({ processes: [], cgroups: [], directories: [] });
      }
    },
    rounds * roundMs,
  );

  test("together with its janitor leaves nothing behind once the next host has started", async () => {
    const ownRuntimeDir = await mkdtemp(join(tmpdir(), "cc-fault-"));
    await chmod(ownRuntimeDir, 0o711);
    const mark = `killed-${process.pid}-janitor`;
    const host = spawn(process.execPath, [script, "template", ownRuntimeDir, mark], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    hosts.add(host);
    await once(host.stdout, "data");
    const daemons = () => hostProcesses().filter(({ command }) => command.includes(mark) && !command.includes(script));
    expect(await eventually(() => daemons().length > 0)).toBe(true);
    const exited = once(host, "exit");
    const isJanitor = ({ command, status }: ReturnType<typeof hostProcesses>[number]) =>
      command.includes("codecell-janitor") && Number(status.PPid) === host.pid;
    const janitors = hostProcesses().filter(isJanitor);
    expect(janitors).toHaveLength(1);
    process.kill(janitors[0]?.pid ?? 0, "SIGKILL");
    host.kill("SIGKILL");
    await exited;
    hosts.delete(host);
    const tags = readdirSync(ownRuntimeDir).filter((name) => /^cc[0-9a-f]{12}$/.test(name));
    expect(tags).toHaveLength(1);
    await using next = processRunner({ runtimeDir: ownRuntimeDir });
    await next.probe();
    expect(readdirSync(ownRuntimeDir).filter((name) => name.startsWith(tags[0] ?? ""))).toEqual([]);
    expect(leftBehind(tags).cgroups).toEqual([]);
    expect(daemons()).toEqual([]);
    await next[Symbol.asyncDispose]();
    expect(readdirSync(ownRuntimeDir).filter((name) => name.startsWith("cc"))).toEqual([]);
    await rm(ownRuntimeDir, { recursive: true, force: true });
  });
});
