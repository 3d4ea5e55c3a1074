import { open, readFile } from "node:fs/promises";
import { relative } from "node:path";
import { isBelow } from "../../policy/paths/host-path.ts";
import { type MountinfoEntry, parseMountinfo } from "./mountinfo.ts";

/** Opens only the path: this needs no read permission and starts no device. Node has no constant for it. */
const O_PATH = 0o10000000;

/** A file system that the host has mounted below a directory that cells see. */
export interface NestedMount {
  /** relative to that directory */
  readonly path: string;
  /** its device and the mounted part of it, which are the same in every mount table */
  readonly identity: string;
}

/** The mounts of this host. Empty if it has no mount table. */
export async function hostMounts(table = "/proc/self/mountinfo"): Promise<MountinfoEntry[]> {
  const text = await readFile(table, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return "";
    throw error;
  });
  return parseMountinfo(text);
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
  const file = await open(point, O_PATH).catch(() => undefined);
  if (file === undefined) return false;
  try {
    const facts = await readFile(`/proc/self/fdinfo/${file.fd}`, "utf8");
    return /^mnt_id:\s+(\d+)$/m.exec(facts)?.[1] === id;
  } finally {
    await file.close();
  }
}
