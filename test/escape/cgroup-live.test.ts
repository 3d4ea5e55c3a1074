import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { access, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createCellCgroup } from "../../src/runners/process/cgroup/cell-cgroup.ts";
import { detectCgroups } from "../../src/runners/process/cgroup/cgroup.ts";

const support = await detectCgroups({ trialName: `codecell-live-${process.pid}` });
const hasPython = spawnSync("python3", ["--version"]).status === 0;
const skipReason = support.kind === "none" ? ` (${support.reason})` : hasPython ? "" : " (apt install python3)";
const forkBomb = `
import os
while True:
    try: os.fork()
    except OSError: pass`;
const limits = { memoryBytes: 64 * 2 ** 20, socketBytes: 16 * 2 ** 20, pids: 8, cpus: 1 };

describe.skipIf(skipReason !== "")(`the control groups of this machine${skipReason}`, () => {
  test("kill a process over its memory limit, and count the kill", async () => {
    await using cgroup = await create("memory");
    const hog = joined(cgroup.placement, `exec python3 -I -S -c 'x = bytearray(200 << 20)'`);
    expect(await once(hog, "exit")).toEqual([null, "SIGKILL"]);
    const usage = await cgroup.usage();
    expect(usage.oomKills).toBe(1);
    expect(usage.peakMemoryBytes).toBeGreaterThan(32 * 2 ** 20);
  });

  test("stop a fork bomb at the process limit; kill ends it and disposing removes the groups", async () => {
    await using cgroup = await create("pids");
    const bomb = joined(cgroup.placement, `exec python3 -I -S -c '${forkBomb}'`);
    const exited = once(bomb, "exit");
    const group = cgroup.placement[0]?.path ?? "";
    await expect
      .poll(async () => lines(await readFile(join(group, "cgroup.procs"), "utf8")), { timeout: 30_000 })
      .toBeGreaterThan(3);
    expect(lines(await readFile(join(group, "cgroup.procs"), "utf8"))).toBeLessThanOrEqual(limits.pids);
    await cgroup[Symbol.asyncDispose]();
    await exited;
    for (const { path } of cgroup.placement) await expect(access(path)).rejects.toMatchObject({ code: "ENOENT" });
  });

  test("kill a process that the host moved into them", async () => {
    await using cgroup = await create("move");
    const child = spawn("/bin/cat", { env: {}, stdio: ["pipe", "ignore", "ignore"] });
    const exited = once(child, "exit");
    await cgroup.place(child.pid ?? 0);
    await cgroup.kill();
    expect(await exited).toEqual([null, "SIGKILL"]);
  });
});

async function create(what: string) {
  if (support.kind === "none") throw new Error(support.reason);
  return createCellCgroup(support, `codecell-live-${process.pid}-${what}`, limits);
}

function joined(placement: readonly { path: string; file: string }[], script: string) {
  const files = placement.map(({ path, file }) => join(path, file));
  const enter = 'for f in "$@"; do echo 0 > "$f" || exit 9; done; ';
  return spawn("/bin/sh", ["-c", enter + script, "sh", ...files], { env: { PATH: "/usr/bin:/bin" }, stdio: "ignore" });
}

function lines(text: string): number {
  return text.split("\n").filter(Boolean).length;
}
