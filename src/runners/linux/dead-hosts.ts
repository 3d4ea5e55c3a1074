import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Cleanup } from "../../lib/cleanup.ts";
import { CodecellError } from "../../lib/errors.ts";
import { takeLock } from "../../lib/files/liveness-lock.ts";
import { claimOf, claimPath, deadNames } from "../../lib/files/living-file.ts";
import { startJanitor } from "./janitor.ts";

const groupsFile = "groups";

/**
 * Claims a host's own directory, which carries its tag, for as long as it lives. Its janitor outlives it, and may be killed
 * as well: a service manager or a container's end kills all processes at once. Then the next host does the janitor's work.
 */
export async function claimHostDirectory(directory: string, cleanup: Cleanup): Promise<void> {
  const claim = await claimPath(directory);
  if (!claim) throw new CodecellError("internal", "the directory of a new host process is already in use");
  cleanup.defer(() => claim[Symbol.asyncDispose]());
}

/** Says in a host's own directory where its groups are: whoever comes after it may have others. */
export async function noteGroups(directory: string, cgroupDirs: readonly string[]): Promise<void> {
  await writeFile(join(directory, groupsFile), cgroupDirs.join("\n"), { mode: 0o600 });
}

/** Ends the processes and removes the groups and directories of hosts that are dead and have no janitor any more. */
export async function removeDeadHosts(runtimeDir: string): Promise<void> {
  for (const tag of await deadNames(runtimeDir)) {
    if (!/^cc[0-9a-f]{12}$/.test(tag)) continue;
    const directory = join(runtimeDir, tag);
    await using mine = await takeLock(claimOf(directory)); // of several that start at once, one does it
    if (!mine) continue;
    const cgroupDirs = await readFile(join(directory, groupsFile), "utf8").catch(() => "");
    const owner = { tag, cgroupDirs: cgroupDirs.split("\n").filter(Boolean), directories: [directory] };
    await startJanitor(owner)[Symbol.asyncDispose]();
  }
}
