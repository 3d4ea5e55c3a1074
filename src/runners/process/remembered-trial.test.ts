import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { CgroupSupport } from "./cgroup/cgroup.ts";
import { rememberMs } from "./remembered-probe.ts";
import { RememberedTrial } from "./remembered-trial.ts";

const support: CgroupSupport = { kind: "v2", dir: "/cg/own", controllers: new Set(["memory", "pids"]) };

let runtimeDir: string;
let file: string;
beforeEach(async () => {
  runtimeDir = await mkdtemp(join(tmpdir(), "remembered-trial-"));
  file = join(runtimeDir, "remembered-cgroups.json");
});
afterEach(() => rm(runtimeDir, { recursive: true, force: true }));

/** How often a new process tries, and whether it may use these groups. */
async function pass(groups: CgroupSupport, outcome: "works" | "fails" = "works") {
  let trials = 0;
  const remembered = new RememberedTrial({ runtimeDir });
  const passed = await remembered
    .pass(groups, async () => {
      trials++;
      if (outcome === "fails") throw new Error("EROFS");
    })
    .then(
      () => true,
      () => false,
    );
  await remembered.settled();
  return { passed, trials };
}

test("a trial of cgroups that worked saves the next process its own", async () => {
  expect(await pass(support)).toEqual({ passed: true, trials: 1 });
  expect(await pass(support)).toEqual({ passed: true, trials: 0 });
});

test("a trial of cgroups that failed is not remembered", async () => {
  expect(await pass(support, "fails")).toEqual({ passed: false, trials: 1 });
  expect(await pass(support)).toEqual({ passed: true, trials: 1 });
});

test("a remembered trial says nothing about other groups or other controllers", async () => {
  await pass(support);
  expect((await pass({ ...support, dir: "/cg/other" })).trials).toBe(1);
  await pass(support);
  expect((await pass({ ...support, controllers: new Set(["memory", "pids", "cpu"] as const) })).trials).toBe(1);
});

test("an older trial of cgroups is repeated in the background, and forgotten if it fails", async () => {
  await pass(support);
  const memory = JSON.parse(await readFile(file, "utf8"));
  await writeFile(file, JSON.stringify({ ...memory, at: Date.now() - rememberMs.recheck - 1 }));
  expect(await pass(support, "fails")).toEqual({ passed: true, trials: 1 });
  expect(await pass(support)).toEqual({ passed: true, trials: 1 });
});

test("a forgotten trial of cgroups is made again", async () => {
  await pass(support);
  await new RememberedTrial({ runtimeDir }).forget();
  expect((await pass(support)).trials).toBe(1);
});
