import { lstat, readdir, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { isPipeHeld } from "../../../../lib/files/held-pipe.ts";
import { unmount } from "./disk-image.ts";
import { finishMove } from "./move-files.ts";
import { diskPaths, disksOf, findDisk, removeImage } from "./session-disk.ts";

const youngMs = 10_000;

/** A pipe that a process holds open while it makes disks; their names begin with the same tag. */
export function ownerPipe(root: string, tag: string): string {
  return join(disksOf(root), `${tag}.owner`);
}

/**
 * Removes the disks of killed processes that no session has, and unmounts those of saved sessions: `isOpen` says whether a
 * process has the session of a workspace open. Who reads one now keeps it mounted.
 */
export async function removeDiskLeftovers(root: string, isOpen: (name: string) => Promise<boolean>): Promise<void> {
  const entries = await readdir(disksOf(root)).catch(() => []);
  if (entries.length === 0) return;
  // Owners first: a live one links a new disk to its session only after it has made it.
  const ownerless = new Set<string>();
  for (const entry of entries) {
    const [, tag, id] = /^(d[0-9a-f]{12})(?:(-\d+-\d+)(?:\.img)?|\.owner)$/.exec(entry) ?? [];
    if (tag === undefined || (await isPipeHeld(ownerPipe(root, tag)))) continue;
    if (id !== undefined) ownerless.add(tag + id);
    else if (await isOld(join(disksOf(root), entry))) await rm(join(disksOf(root), entry), { force: true });
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

/** A process makes its pipe, and only then holds it open. */
async function isOld(path: string): Promise<boolean> {
  const found = await lstat(path).catch(() => undefined);
  return found !== undefined && Date.now() - found.ctimeMs > youngMs;
}
