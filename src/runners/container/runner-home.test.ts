import { existsSync } from "node:fs";
import { chmod, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Cleanup } from "../../lib/cleanup.ts";
import { openRunnerHome } from "./runner-home.ts";

let runtimeDir: string;
beforeEach(async () => {
  runtimeDir = await mkdtemp(join(tmpdir(), "cc-home-"));
  await chmod(runtimeDir, 0o711);
});
afterEach(() => rm(runtimeDir, { recursive: true, force: true }));

test("opening a runner home removes the homes of runners that have exited, and keeps the others", async () => {
  const dead = join(runtimeDir, "container-0123456789ab");
  await mkdir(join(dead, "c1"), { recursive: true });
  await mkdir(join(runtimeDir, "container-notes"));
  await using cleanup = new Cleanup();
  const living = await openRunnerHome(runtimeDir, cleanup);
  expect(existsSync(dead)).toBe(false);
  await openRunnerHome(runtimeDir, cleanup);
  expect(existsSync(living.directory)).toBe(true);
  expect(existsSync(join(runtimeDir, "container-notes"))).toBe(true);
});

test("a runner home is removed with its runner", async () => {
  const cleanup = new Cleanup();
  const { directory } = await openRunnerHome(runtimeDir, cleanup);
  await cleanup[Symbol.asyncDispose]();
  expect(existsSync(directory)).toBe(false);
});
