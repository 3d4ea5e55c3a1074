import { createHash } from "node:crypto";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import type { Logger } from "../../src/lib/log/logger.ts";
import { parsePolicy } from "../../src/policy/file/parse-policy.ts";
import { wasmRunner } from "../../src/runners/wasm/runner.ts";
import { LiveSessions } from "../../src/sessions/live-sessions.ts";
import { copyWasmRuntimeTo } from "../support/wasm-runtime.ts";

const directories: string[] = [];
afterEach(async () => {
  for (const directory of directories.splice(0)) await rm(directory, { recursive: true, force: true });
});

test("a WASM snapshot that does not load is reported to the runner, and the session runs without it", async () => {
  const runtimeDir = await mkdtemp(join(tmpdir(), "codecell-snapshot-"));
  directories.push(runtimeDir);
  await copyWasmRuntimeTo(runtimeDir);
  await replaceSnapshot(runtimeDir);

  const warnings: string[] = [];
  expect(await runOnce(runtimeDir, warnings)).toBe("42");
  expect(warnings).toContain("the WASM snapshot did not load and will be created again");

  const later: string[] = [];
  expect(await runOnce(runtimeDir, later)).toBe("42");
  expect(later).toEqual([]);
});

async function runOnce(runtimeDir: string, warnings: string[]): Promise<string | undefined> {
  const nothing = () => {};
  const logger: Logger = { debug: nothing, info: nothing, warn: (text) => warnings.push(text), error: nothing };
  const runners = [wasmRunner({ runtimeDir, logger })];
  await using sessions = await LiveSessions.open({ policy: parsePolicy({}), runners });
  await using session = await sessions.openSession();
  return (await session.run("6 * 7")).value;
}

/** Its checksum is right: only the interpreter can tell that it is no snapshot. */
async function replaceSnapshot(runtimeDir: string): Promise<void> {
  const found = await readdir(runtimeDir, { recursive: true });
  const manifest = join(runtimeDir, found.find((path) => path.endsWith("warm/manifest.json")) ?? "missing");
  const content = Buffer.from("not a snapshot");
  await writeFile(join(manifest, "..", "snapshot.bin"), content);
  const sums = JSON.parse(await readFile(manifest, "utf8"));
  sums["snapshot.bin"] = createHash("sha256").update(content).digest("hex");
  await writeFile(manifest, JSON.stringify(sums));
}
