import { spawn } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { createReadStream } from "node:fs";
import { chmod, mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { messageOf } from "../../lib/errors.ts";
import { killAfter } from "../../lib/kill-after.ts";
import type { Logger } from "../../lib/log/logger.ts";
import { withStreams } from "../../lib/with-streams.ts";
import { nodeFlags } from "./command.ts";

const buildTimeoutMs = 120_000;
const buildPages = 8192;
const manifestFile = "manifest.json";

/**
 * Creates the memory snapshot and V8's code caches of a runtime directory on first use. If this fails, cells start without
 * them, only slower.
 */
export async function ensureWarmFiles(runtime: string, node: string, logger: Logger): Promise<boolean> {
  const directory = join(runtime, "warm");
  try {
    if (await isIntact(directory)) return true;
    await discardWarmFiles(runtime);
    const started = performance.now();
    logger.info("preparing the WASM runtime; this happens once");
    await build(runtime, directory, node);
    logger.info("the WASM runtime is ready", { ms: Math.round(performance.now() - started) });
    return await isIntact(directory);
  } catch (error) {
    logger.warn("no snapshot for the WASM runtime: cells start slower", { reason: messageOf(error) });
    return false;
  }
}

/** Renames them first, so that a cell that starts meanwhile finds all files or none. */
export async function discardWarmFiles(runtime: string): Promise<void> {
  const away = join(runtime, `.old-${randomBytes(8).toString("hex")}`);
  await rename(join(runtime, "warm"), away).catch(() => {});
  await rm(away, { recursive: true, force: true });
}

async function build(runtime: string, directory: string, node: string): Promise<void> {
  const staging = join(runtime, `.warm-${randomBytes(8).toString("hex")}`);
  await mkdir(staging);
  try {
    await runBuilder(runtime, staging, node);
    const sums: Record<string, string> = {};
    for (const name of await readdir(staging)) {
      await chmod(join(staging, name), 0o644); // the parent directory limits access
      sums[name] = await sha256(join(staging, name));
    }
    await writeFile(join(staging, manifestFile), JSON.stringify(sums));
    await chmod(staging, 0o755);
    await rename(staging, directory);
  } catch (error) {
    await rm(staging, { recursive: true, force: true });
    if (!(await isIntact(directory))) throw error; // another process may have created it first
  }
}

function runBuilder(runtime: string, staging: string, node: string): Promise<void> {
  const entry = join(runtime, "guest", "build-warm.js");
  const flags = [...nodeFlags(runtime), `--allow-fs-write=${staging}/*`];
  const spawned = spawn(node, [...flags, entry, staging, JSON.stringify({ memoryPages: buildPages })], {
    env: {},
    cwd: runtime,
    stdio: ["ignore", "ignore", "pipe"],
  });
  killAfter(spawned, buildTimeoutMs, "SIGKILL");
  const child = withStreams(spawned);
  let output = "";
  child.stderr.on("data", (chunk: Buffer) => {
    if (output.length < 4000) output += chunk.toString();
  });
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code, signal) => {
      if (code === 0) resolve();
      else reject(new Error(`the builder exited with ${code ?? signal}: ${output.slice(0, 4000)}`));
    });
  });
}

/** Compares checksums once per runner, because a damaged snapshot would be a broken interpreter. */
async function isIntact(directory: string): Promise<boolean> {
  try {
    const sums = JSON.parse(await readFile(join(directory, manifestFile), "utf8")) as Record<string, string>;
    if (sums["snapshot.bin"] === undefined) return false;
    for (const [name, sum] of Object.entries(sums)) {
      if ((await sha256(join(directory, name))) !== sum) return false;
    }
    return true;
  } catch {
    return false;
  }
}

async function sha256(path: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(path, { highWaterMark: 2 ** 20 }), hash);
  return hash.digest("hex");
}
