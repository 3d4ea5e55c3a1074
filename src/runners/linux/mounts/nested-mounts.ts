import { relative } from "node:path";
import { type MountinfoEntry, mountIdOf } from "../../../lib/files/mountinfo.ts";
import { isBelow } from "../../../policy/paths/host-path.ts";

/** A file system that the host has mounted below a directory that cells see. */
export interface NestedMount {
  /** relative to that directory */
  readonly path: string;
  /** its device and the mounted part of it, which are the same in every mount table */
  readonly identity: string;
}

/** The mounts below a directory, given by its real path. */
export async function nestedMounts(source: string, mounts: readonly MountinfoEntry[]): Promise<NestedMount[]> {
  const below = mounts.filter(({ point }) => isBelow(point, source));
  const isInSight = await Promise.all(below.map(isSeen));
  return below
    .filter((_, index) => isInSight[index])
    .map(({ point, device, root }) => ({ path: relative(source, point), identity: `${device} ${root}` }));
}

/** False if another mount hides it: a symlink could be in its place, and mounting that would expose the symlink's target. */
async function isSeen({ id, point }: MountinfoEntry): Promise<boolean> {
  return (await mountIdOf(point)) === id;
}
