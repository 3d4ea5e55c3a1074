import { open, readFile } from "node:fs/promises";
import { relative } from "node:path";
import { isBelow } from "../../policy/paths/host-path.ts";
import { type MountinfoEntry, parseMountinfo } from "./mountinfo.ts";

/** Opens nothing but the way to a file: it needs no right to read it, and wakes no device. Node does not name it. */
const O_PATH = 0o10000000;

/** A file system that the host has mounted somewhere below a directory that cells see. */
export interface NestedMount {
  /** relative to that directory */
  readonly path: string;
  /** its device, and which part of it: the same in every mount table */
  readonly identity: string;
}

/** The mounts of this host; none where it has no such table. */
export async function hostMounts(table = "/proc/self/mountinfo"): Promise<MountinfoEntry[]> {
  const text = await readFile(table, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return "";
    throw error;
  });
  return parseMountinfo(text);
}

/** Those below a directory by its real path. */
export async function nestedMounts(source: string, mounts: readonly MountinfoEntry[]): Promise<NestedMount[]> {
  const below = mounts.filter(({ point }) => isBelow(point, source));
  const isInSight = await Promise.all(below.map(isSeen));
  return below
    .filter((_, index) => isInSight[index])
    .map(({ point, device, root }) => ({ path: relative(source, point), identity: `${device} ${root}` }));
}

/** False where another mount hides it: in its place may be a link, and a mount of that would bring in what it leads to. */
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
