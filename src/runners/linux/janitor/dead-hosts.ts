import { writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Cleanup } from "../../../lib/cleanup.ts";
import { CodecellError } from "../../../lib/errors.ts";
import { takeLock } from "../../../lib/files/liveness-lock.ts";
import { claimOf, claimPath, deadNames } from "../../../lib/files/living-file.ts";
import { startJanitor } from "./janitor.ts";

const groupsFile = "groups";

/**
 * Locks a host process's own directory, whose name has its tag, while the process runs. If the process and its janitor are
 * killed together, as a service manager or a stopped container does, the next host process does the janitor's work.
 */
export async function claimHostDirectory(directory: string, cleanup: Cleanup): Promise<void> {
  const claim = await claimPath(directory);
  if (!claim) throw new CodecellError("internal", "the directory of a new host process is already in use");
  cleanup.defer(() => claim[Symbol.asyncDispose]());
}

/** Writes the locations of a host process's cgroups into its directory, because a later process may have others. */
export function noteGroups(directory: string, cgroupDirs: readonly string[]): void {
  writeFileSync(join(directory, groupsFile), cgroupDirs.join("\n"), { mode: 0o600 });
}

/** Kills the processes and removes the cgroups and directories of host processes that exited and have no janitor. */
export async function removeDeadHosts(runtimeDir: string): Promise<void> {
  for (const tag of await deadNames(runtimeDir)) {
    if (!/^cc[0-9a-f]{12}$/.test(tag)) continue;
    const directory = join(runtimeDir, tag);
    await using mine = await takeLock(claimOf(directory)); // if several start at once, only one does this
    if (!mine) continue;
    const cgroupDirs = await readFile(join(directory, groupsFile), "utf8").catch(() => "");
    const owner = { tag, cgroupDirs: cgroupDirs.split("\n").filter(Boolean), directories: [directory] };
    await startJanitor(owner)[Symbol.asyncDispose]();
  }
}
