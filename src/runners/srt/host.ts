import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Cleanup } from "../../lib/cleanup.ts";
import { CodecellError } from "../../lib/errors.ts";
import { openRuntimeDirectory } from "../../lib/files/runtime-directory.ts";
import { internetNames } from "../linux/internet-names.ts";
import { claimHostDirectory, removeDeadHosts } from "../linux/janitor/dead-hosts.ts";
import { startJanitor } from "../linux/janitor/janitor.ts";
import { findHostRoot } from "../linux/mounts/host-root.ts";
import { assertEnterable } from "../linux/users/assert-enterable.ts";
import { CellUsers } from "../linux/users/cell-users.ts";
import { findSrtPackage, type SrtPackage } from "./package.ts";
import { WrapServices } from "./wrap-services.ts";

/** How the srt runner sets up this host. */
export interface SrtHostOptions {
  readonly runtimeDir?: string;
  /** directory of the package, if it is not installed as a dependency */
  readonly packagePath?: string;
  /** timeout for wrapping a command; after it, srt's process is killed, and the next start uses a new one */
  readonly wrapTimeoutMs?: number;
}

/** What one host process sets up once for all its cells. */
export interface SrtHost {
  readonly srt: SrtPackage;
  readonly runtimeDir: string;
  /** removed when this process exits, even if it is killed */
  readonly ownDir: string;
  /** programs, libraries and the files of /etc that they need */
  readonly programs: readonly string[];
  /** users for cells, if codecell runs as root */
  readonly users: CellUsers | undefined;
  readonly services: WrapServices;
}

/** Finds the package and prepares directories. `cleanup` undoes it. */
export async function openSrtHost(options: SrtHostOptions, cleanup: Cleanup): Promise<SrtHost> {
  const srt = await findSrtPackage(options.packagePath);
  if ("missing" in srt) throw new CodecellError("runner_unavailable", srt.missing, { hint: srt.hint });
  const runtimeDir = await openRuntimeDirectory(options.runtimeDir);
  const users = await CellUsers.open(runtimeDir, cleanup);
  if (process.getuid?.() === 0 && users === undefined) {
    // Under srt, root keeps every capability in the cell's user namespace.
    const hint = "start codecell as an ordinary user, or use the wasm runner";
    throw new CodecellError("runner_unavailable", "cells never run as root, but root has no other uid here", { hint });
  }
  await assertEnterable(runtimeDir, users);
  const tag = `cc${randomBytes(6).toString("hex")}`;
  const ownDir = join(runtimeDir, tag);
  await removeDeadHosts(runtimeDir);
  await claimHostDirectory(ownDir, cleanup);
  const janitor = startJanitor({ tag, cgroupDirs: [], directories: [ownDir] });
  cleanup.defer(() => janitor[Symbol.asyncDispose]());
  await mkdir(ownDir, { mode: 0o711 });
  const directory = join(ownDir, "empty");
  await mkdir(directory, { mode: 0o755 });
  const { links, directories, etc } = findHostRoot();
  const services = new WrapServices({ srt, directory, timeoutMs: options.wrapTimeoutMs }, cleanup);
  // srt shows host paths only, so names of ports and protocols come from the host's own files
  const names = Object.keys(internetNames)
    .map((name) => `/etc/${name}`)
    .filter((path) => existsSync(path));
  const programs = ["/usr", ...links.map(({ path }) => path), ...directories, ...etc, ...names, srt.filterDirectory];
  return { srt, runtimeDir, ownDir, programs, users, services };
}
