import { cp } from "node:fs/promises";
import { basename, join } from "node:path";
import process from "node:process";
import { silentLogger } from "../../src/lib/log/logger.ts";
import { findPackageFiles } from "../../src/runners/wasm/package-files.ts";
import { defaultRuntimeRoot, prepareRuntimeDirectory } from "../../src/runners/wasm/runtime-directory.ts";
import { ensureWarmFiles } from "../../src/runners/wasm/warm-files.ts";

let prepared: Promise<string | undefined> | undefined;

/**
 * Copies the prepared WASM runtime into a new state directory (an `XDG_STATE_HOME`). The first command there would prepare
 * another one, with four seconds of CPU time.
 */
export async function copyWasmRuntime(stateHome: string): Promise<void> {
  await copyWasmRuntimeTo(defaultRuntimeRoot({ XDG_STATE_HOME: stateHome }));
}

/** The same, into a directory that a runner is given as its `runtimeDir`. */
export async function copyWasmRuntimeTo(root: string): Promise<void> {
  prepared ??= prepare();
  const runtime = await prepared;
  if (runtime === undefined) return;
  // What another process is still making has a hidden name, and may vanish while it is copied.
  const filter = (path: string) => !basename(path).startsWith(".");
  await cp(runtime, join(root, basename(runtime)), { recursive: true, filter });
}

/** The one that tests in this process use. */
async function prepare(): Promise<string | undefined> {
  const files = findPackageFiles();
  if ("missing" in files) return undefined;
  const runtime = await prepareRuntimeDirectory(defaultRuntimeRoot({}), files);
  return (await ensureWarmFiles(runtime, process.execPath, silentLogger)) ? runtime : undefined;
}
