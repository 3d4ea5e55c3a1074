import { readdir } from "node:fs/promises";
import { basename, join } from "node:path";
import { isHeld } from "../../../../lib/files/liveness-lock.ts";
import { unmount } from "./disk-image.ts";
import { finishMove } from "./move-files.ts";
import { diskPaths, disksOf, findDisk, removeImage } from "./session-disk.ts";

/** The lock that a process holds while it makes disks; their names begin with the same tag. */
export function disksLock(runtimeDir: string, tag: string): string {
  return join(runtimeDir, `disks-${tag}`);
}

/**
 * Removes the disks of killed processes that no session has, and unmounts those of saved sessions: `isOpen` says whether a
 * process has the session of a workspace open. Who reads one now keeps it mounted.
 */
export async function removeDiskLeftovers(
  root: string,
  runtimeDir: string,
  isOpen: (name: string) => Promise<boolean>,
): Promise<void> {
  const entries = await readdir(disksOf(root)).catch(() => []);
  if (entries.length === 0) return;
  // Owners first: a live one links a new disk to its session only after it has made it.
  const ownerless = new Set<string>();
  for (const entry of entries) {
    const [, id, tag] = /^((d[0-9a-f]{12})-\d+-\d+)(?:\.img)?$/.exec(entry) ?? [];
    if (id !== undefined && tag !== undefined && !(await isHeld(disksLock(runtimeDir, tag)))) ownerless.add(id);
  }
  const used = new Set<string>();
  for (const name of await readdir(root)) {
    const [, session = name, unfinished] = /^(.*?)(\.link|\.old)?$/.exec(name) ?? [];
    if (unfinished !== undefined && !(await isOpen(session))) await finishMove(root, name);
    const disk = await findDisk({ root, name });
    if (!disk) continue;
    const id = basename(disk.directory);
    used.add(id);
    if (ownerless.has(id) && !(await isOpen(session))) await unmount(disk.directory);
  }
  for (const id of ownerless) if (!used.has(id)) await removeImage(diskPaths(root, id));
}
