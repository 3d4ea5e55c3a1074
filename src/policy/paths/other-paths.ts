import { join, relative } from "node:path";
import type { MountinfoEntry } from "../../lib/files/mountinfo.ts";
import { isBelow } from "./host-path.ts";

/**
 * Pure: the other host paths of a file, by the mount table. The attack: a bind mount shows `~/.aws` under a harmless name, and
 * deny globs match names. `mountId` is the mount that shows `path`.
 */
export function otherPaths(path: string, mountId: string | undefined, mounts: readonly MountinfoEntry[]): string[] {
  const shown = mounts.find(({ id }) => id === mountId);
  if (shown === undefined || !contains(shown.point, path)) return [];
  // Where the file is in its file system, which is the same in every mount of it.
  const inside = join(shown.root, relative(shown.point, path));
  const others = mounts.filter(
    ({ id, device, root }) => id !== mountId && device === shown.device && contains(root, inside),
  );
  const paths = others.map(({ root, point }) => join(point, relative(root, inside)));
  return [...new Set(paths)].filter((other) => other !== path);
}

function contains(directory: string, path: string): boolean {
  return path === directory || isBelow(path, directory);
}
