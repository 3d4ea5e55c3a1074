import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { scriptedSrt, srtWords } from "../../../test/support/scripted-srt.ts";
import { Cleanup } from "../../lib/cleanup.ts";
import { srtSettings } from "./settings.ts";
import { WrapServices } from "./wrap-services.ts";

const settings = srtSettings({ programs: [], workspace: "/w", mounts: [], denied: [] });

function services(body: string, cleanup: Cleanup) {
  return new WrapServices({ srt: scriptedSrt(body), directory: tmpdir() }, cleanup);
}

test("a command that was sent to a process of sandbox-runtime that had died is wrapped by another one", async () => {
  await using cleanup = new Cleanup();
  const directory = await mkdtemp(join(tmpdir(), "codecell-srt-"));
  cleanup.defer(() => rm(directory, { recursive: true }));
  const died = join(directory, "died");
  const all = services(
    `async wrapWithSandbox() {
      const { existsSync, writeFileSync } = await import("node:fs");
      if (existsSync("${died}")) return "${srtWords}";
      writeFileSync("${died}", "");
      process.kill(process.pid, "SIGKILL");
      await new Promise(() => {});
    }`,
    cleanup,
  );
  const first = all.of(undefined);
  const { wrapped, service } = await all.wrap(undefined, "true", settings);
  expect(existsSync(died)).toBe(true);
  expect(wrapped).toContain(srtWords);
  expect(service).not.toBe(first);
  expect(all.of(undefined)).toBe(service);
});

test("a sandbox-runtime that ends for each command fails the start, after two of them", async () => {
  await using cleanup = new Cleanup();
  const all = services("wrapWithSandbox() { console.error('no more'); process.exit(3); }", cleanup);
  const first = all.of(undefined);
  await expect(all.wrap(undefined, "true", settings)).rejects.toMatchObject({
    code: "cell_start_failed",
    message: "sandbox-runtime ended unexpectedly: no more",
  });
  expect(first.hasVanished).toBe(true);
});

test("a sandbox-runtime that cannot start is not started twice for one command", async () => {
  await using cleanup = new Cleanup();
  const all = services("checkDependencies() { console.error('no start'); process.exit(3); }", cleanup);
  const first = all.of(undefined);
  await expect(all.wrap(undefined, "true", settings)).rejects.toThrow("sandbox-runtime did not start: no start");
  expect(first.hasVanished).toBe(false);
});

test("a command that waits when the runner is closed is not given to another sandbox-runtime", async () => {
  const cleanup = new Cleanup();
  const all = services("wrapWithSandbox: () => new Promise(() => {})", cleanup);
  const wrapping = expect(all.wrap(undefined, "true", settings)).rejects.toThrow("sandbox-runtime ended unexpectedly");
  const service = all.of(undefined);
  await service.missing();
  await cleanup[Symbol.asyncDispose]();
  await wrapping;
  expect(service.hasVanished).toBe(false);
});
