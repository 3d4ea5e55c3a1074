import { lstat, readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isHeld } from "../../lib/files/liveness-lock.ts";
import { removeTree } from "../../lib/files/remove-tree.ts";
import { userHome } from "../../lib/files/user-home.ts";
import { ownerLock } from "../../sessions/storage/files/remove-orphans.ts";

const prefix = "codecell-attack-";
const ownName = new RegExp(`^${prefix}(m[0-9a-f]{12})$`);

/** Where the suite plants canaries, if this user may write there. */
export function canaryParents(): readonly string[] {
  const usual = process.platform === "linux" ? ["/var/tmp", "/dev/shm", "/run"] : [];
  return [...new Set([userHome(), ...usual])].filter((place) => place !== undefined);
}

/** The directory of a run of the suite below one of the parents. */
export function ownPlace(parent: string, tag: string): string {
  return join(parent, `${prefix}${tag}`);
}

/** Removes what a killed suite left behind. A running one holds its lock, and is not touched. */
export async function removeDeadPlaces(runtimeDir: string, workParent = tmpdir()): Promise<void> {
  for (const parent of new Set([workParent, ...canaryParents()])) {
    for (const name of await readdir(parent).catch(() => [])) {
      const tag = ownName.exec(name)?.[1];
      if (tag === undefined || (await isHeld(ownerLock(runtimeDir, tag)))) continue;
      const path = join(parent, name);
      // The attack: another user plants a directory or a link of this name where everybody may write.
      const stats = await lstat(path).catch(() => undefined);
      if (stats?.isDirectory() && stats.uid === process.getuid?.()) await removeTree(path).catch(() => {});
    }
  }
}
