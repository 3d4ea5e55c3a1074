import { createHash, randomBytes } from "node:crypto";
import { mkdir, readdir, readFile, rm } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import type { Cleanup } from "../../lib/cleanup.ts";
import { CodecellError } from "../../lib/errors.ts";
import { isHeld, takeLock } from "../../lib/files/liveness-lock.ts";
import { openRuntimeDirectory } from "../../lib/files/runtime-directory.ts";
import { type ClosedEntries, makeClosedEntries } from "../linux/mounts/closed-entries.ts";
import { CellUsers } from "../linux/users/cell-users.ts";
import { lockLabel, machineLabel, ownerLabel } from "./cell/orphans.ts";

const mostProcesses = 16_384;
const mostFiles = 1_048_576;

/** What a runner sets up once for all its cells. */
export interface RunnerHome extends ClosedEntries {
  readonly tag: string;
  /** identifies this machine and user, for the labels of containers */
  readonly machine: string;
  readonly runtimeDir: string;
  readonly directory: string;
  readonly emptyDirectory: string;
  readonly labels: Readonly<Record<string, string>>;
  /** users for cells, if codecell runs as root */
  readonly users: CellUsers | undefined;
  readonly processLimit: number | undefined;
  readonly fileLimit: number | undefined;
}

/** Takes the lock that tells other runners that this one is running, and creates the files that all cells share. */
export async function openRunnerHome(requested: string | undefined, cleanup: Cleanup): Promise<RunnerHome> {
  const runtimeDir = await openRuntimeDirectory(requested);
  await removeDeadHomes(runtimeDir);
  const tag = randomBytes(6).toString("hex");
  const lock = await takeLock(lockPath(runtimeDir, tag));
  if (!lock) throw new CodecellError("internal", "the lock of a new runner is already held");
  cleanup.defer(() => lock[Symbol.asyncDispose]());
  const directory = join(runtimeDir, `container-${tag}`);
  await mkdir(directory, { mode: 0o711 });
  cleanup.defer(() => rm(directory, { recursive: true, force: true }));
  const emptyDirectory = join(directory, "empty");
  await mkdir(emptyDirectory, { mode: 0o755 });
  const machine = await machineId();
  return {
    ...{ tag, machine, runtimeDir, directory, emptyDirectory },
    ...makeClosedEntries(directory),
    labels: { [ownerLabel]: tag, [lockLabel]: lock.path, [machineLabel]: machine },
    processLimit: await hardLimit("processes", mostProcesses),
    fileLimit: await hardLimit("open files", mostFiles),
    users: await CellUsers.open(runtimeDir, cleanup),
  };
}

/** Removes directories of killed runners. A runner takes its lock before it creates its directory, so none is in use. */
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

/** A limit that is enough for all cells of a user, and that a host which limits its users allows. Undefined: it does not. */
async function hardLimit(name: string, most: number): Promise<number | undefined> {
  const text = await readFile("/proc/self/limits", "utf8").catch(() => "");
  const [, hard] = new RegExp(`^Max ${name}\\s+\\S+\\s+(\\d+)`, "m").exec(text) ?? [];
  return hard === undefined ? undefined : Math.min(Number(hard), most);
}

/** Identifies this machine without revealing anything else about it. */
async function machineId(): Promise<string> {
  const id = await readFile("/etc/machine-id", "utf8").catch(() => hostname());
  return createHash("sha256")
    .update(id.trim())
    .update(String(process.getuid?.() ?? 0))
    .digest("hex")
    .slice(0, 16);
}
