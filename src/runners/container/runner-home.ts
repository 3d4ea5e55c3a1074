import { createHash, randomBytes } from "node:crypto";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import type { Cleanup } from "../../lib/cleanup.ts";
import { CodecellError } from "../../lib/errors.ts";
import { isHeld, takeLock } from "../../lib/files/liveness-lock.ts";
import { openRuntimeDirectory } from "../../lib/files/runtime-directory.ts";
import { privateUids, type UidRange } from "../linux/private-uid.ts";
import { lockLabel, machineLabel, ownerLabel } from "./cell/orphans.ts";

const mostProcesses = 16_384;

/** What one runner sets up once for all its cells. */
export interface RunnerHome {
  readonly tag: string;
  /** tells this machine and user from others, as containers' labels do */
  readonly machine: string;
  readonly runtimeDir: string;
  readonly directory: string;
  readonly emptyFile: string;
  readonly emptyDirectory: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly uids: UidRange | undefined;
  readonly processLimit: number | undefined;
}

/** Takes a lock that says "alive" to other runners, and makes the files that all cells share. */
export async function openRunnerHome(requested: string | undefined, cleanup: Cleanup): Promise<RunnerHome> {
  const runtimeDir = await openRuntimeDirectory(requested);
  await removeDeadHomes(runtimeDir);
  const tag = randomBytes(6).toString("hex");
  const lock = await takeLock(lockPath(runtimeDir, tag));
  if (!lock) throw new CodecellError("internal", "a new owner's lock is held already");
  cleanup.defer(() => lock[Symbol.asyncDispose]());
  const directory = join(runtimeDir, `container-${tag}`);
  await mkdir(directory, { mode: 0o711 });
  cleanup.defer(() => rm(directory, { recursive: true, force: true }));
  const [emptyFile, emptyDirectory] = [join(directory, "empty-file"), join(directory, "empty")];
  await writeFile(emptyFile, "", { mode: 0o444 });
  await mkdir(emptyDirectory, { mode: 0o755 });
  const machine = await machineId();
  return {
    ...{ tag, machine, runtimeDir, directory, emptyFile, emptyDirectory },
    labels: { [ownerLabel]: tag, [lockLabel]: lock.path, [machineLabel]: machine },
    processLimit: await processLimit(),
    uids: process.getuid?.() === 0 ? privateUids(await readFile("/proc/self/uid_map", "utf8")) : undefined,
  };
}

/** What runners that were killed have left. A lock is taken before its directory is made, so none is taken for dead. */
async function removeDeadHomes(runtimeDir: string): Promise<void> {
  for (const name of await readdir(runtimeDir)) {
    const tag = /^container-([0-9a-f]{12})$/.exec(name)?.[1];
    if (tag === undefined || (await isHeld(lockPath(runtimeDir, tag)))) continue;
    await rm(join(runtimeDir, name), { recursive: true, force: true });
  }
}

function lockPath(runtimeDir: string, tag: string): string {
  return join(runtimeDir, `containers-${tag}`);
}

/** Enough for every cell of a user, and within what a host that limits its users gives to the engine. */
async function processLimit(): Promise<number | undefined> {
  const text = await readFile("/proc/self/limits", "utf8").catch(() => "");
  const [, hard] = /^Max processes\s+\S+\s+(\d+)/m.exec(text) ?? [];
  return hard === undefined ? undefined : Math.min(Number(hard), mostProcesses);
}

/** Tells one machine from another, and says nothing else about it. */
async function machineId(): Promise<string> {
  const id = await readFile("/etc/machine-id", "utf8").catch(() => hostname());
  return createHash("sha256")
    .update(id.trim())
    .update(String(process.getuid?.() ?? 0))
    .digest("hex")
    .slice(0, 16);
}
