import { lstat, readdir, readFile, readlink, rm, rmdir, unlink } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { CodecellError, messageOf } from "../../../../lib/errors.ts";
import { once } from "../../../../lib/once.ts";
import type { SessionWorkspace } from "../../../runner.ts";
import { mountImage, openMounted, readImage, repairImage, unmount } from "./disk-image.ts";

/**
 * A session's files can be in a file system of their own: an image, and the directory where it is mounted while anybody uses
 * it. In place of the session's directory there is then a link to the mounted directory. The mounts are not below the
 * directory of the workspaces: cells of other sessions would hold copies of them, and they could not be unmounted.
 */
export function disksOf(root: string): string {
  return `${resolve(root)}.disks`;
}

export interface DiskPaths {
  readonly image: string;
  /** where it is mounted */
  readonly directory: string;
}

export function diskPaths(root: string, id: string): DiskPaths {
  const directory = join(disksOf(root), id);
  return { image: `${directory}.img`, directory };
}

/** The name of a disk says who made it, and how many bytes it has room for. */
export function diskId(tag: string, number: number, bytes: number): string {
  return `${tag}-${number}-${bytes}`;
}

/** For how many bytes a disk was made. */
export function roomOf({ directory }: DiskPaths): number {
  return Number(basename(directory).split("-")[2]);
}

/** A mounted file system of a session. It stays mounted until it is let go. */
export interface PinnedDisk {
  readonly directory: string;
  letGo(): Promise<void>;
}

/** The file system of a session, if it has one. */
export async function findDisk({ root, name }: SessionWorkspace): Promise<DiskPaths | undefined> {
  const target = await readlink(join(root, name)).catch(() => undefined);
  return target === undefined ? undefined : diskPaths(root, basename(target));
}

/** Mounts the file system of a session. Undefined: its files are in a directory of the host. */
export async function pinDisk(workspace: SessionWorkspace): Promise<PinnedDisk | undefined> {
  const disk = await findDisk(workspace);
  return disk && (await pinImage(disk));
}

/** Mounts an image, unless it is mounted, and keeps it mounted. */
export async function pinImage(disk: DiskPaths): Promise<PinnedDisk> {
  try {
    for (let round = 0; round < 3; round++) {
      // Open first, then look: another process may unmount it until the directory is open.
      const handle = await openMounted(disk.directory);
      if (handle) return { directory: disk.directory, letGo: once(() => handle.close()) };
      await mountAgain(disk);
    }
    throw new Error("it is unmounted again and again");
  } catch (cause) {
    throw new CodecellError("cell_start_failed", `the disk of the session cannot be mounted: ${messageOf(cause)}`, {
      hint: "only root can mount it; check that loop devices are available, and the messages of the Linux kernel",
      cause,
    });
  }
}

/** Unmounts the file system of a session that no cell uses any more. */
export async function releaseDisk(workspace: SessionWorkspace): Promise<void> {
  const disk = await findDisk(workspace);
  if (disk) await unmount(disk.directory);
}

/** Removes the file system of a session with its files. False: the session has none. */
export async function removeDisk(workspace: SessionWorkspace): Promise<boolean> {
  const disk = await findDisk(workspace);
  if (!disk) return false;
  await removeImage(disk);
  await unlink(join(workspace.root, workspace.name)).catch(() => {});
  return true;
}

/** Lazily, if it must be: whoever still reads a file in it must not keep its space taken. */
export async function removeImage({ image, directory }: DiskPaths): Promise<void> {
  if (await isMountPoint(directory)) (await unmount(directory)) || (await unmount(directory, { isLazy: true }));
  await rm(image, { force: true });
  await rmdir(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error;
  });
}

async function isMountPoint(directory: string): Promise<boolean> {
  const [inside, outside] = await Promise.all([lstat(directory), lstat(join(directory, ".."))]).catch(() => []);
  return inside !== undefined && outside !== undefined && inside.dev !== outside.dev;
}

async function mountAgain({ image, directory }: DiskPaths): Promise<void> {
  const { isClean } = await readImage(image);
  if (!isClean && !(await hasDevice(image))) await repairImage(image);
  await mountImage(image, directory);
}

/** Whether a loop device uses this image: it is mounted somewhere, so its file system must not be repaired. */
export async function hasDevice(image: string): Promise<boolean> {
  const names = await readdir("/sys/block").catch(() => []);
  for (const name of names.filter((one) => one.startsWith("loop"))) {
    const file = await readFile(`/sys/block/${name}/loop/backing_file`, "utf8").catch(() => "");
    if (file.trimEnd() === image) return true;
  }
  return false;
}
