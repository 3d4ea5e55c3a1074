import { type FileHandle, open, rm } from "node:fs/promises";
import { join } from "node:path";
import { runTool } from "./run-tool.ts";

const blockBytes = 4096;
/** `mkfs` gives lost+found this many blocks; the directory is removed after the first mount. */
const lostAndFoundBlocks = 4;
/** One file per this many bytes, as the inode limit of a workspace in memory: an empty file takes no block. */
const bytesPerFile = 16 * 1024;
const files = { least: 1024, most: 65_536 };
/** How far below the limit the free space of a new image may be: where a group of blocks begins, it cannot be exact. */
const slackBlocks = 64;

/** Offsets in the superblock of ext4. */
const superblock = { at: 1024, blocks: 4, freeBlocks: 12, state: 58, length: 64 };
const isClean = 1;

/** Pure: how many files a disk of this size can hold. */
export function mostFiles(bytes: number): number {
  return Math.min(files.most, Math.max(files.least, Math.ceil(bytes / bytesPerFile)));
}

/**
 * Writes a sparse image with an ext4 file system that has room for `bytes`, and not for more. The tables of the file system
 * come on top. `knownBlocks` is the size of an earlier image for the same number of bytes. Returns the image's own size.
 */
export async function writeImage(path: string, bytes: number, knownBlocks?: number): Promise<number> {
  const limit = Math.floor(bytes / blockBytes);
  let blocks = knownBlocks ?? Math.ceil((bytes + mostFiles(bytes) * 256) / blockBytes) + 256;
  for (let round = 0; round < 8; round++) {
    await format(path, blocks, mostFiles(bytes));
    const { freeBlocks } = await readImage(path);
    const missing = limit - (freeBlocks + lostAndFoundBlocks - keptBlocks(blocks));
    if (missing >= 0 && missing <= slackBlocks) return blocks;
    blocks += missing;
  }
  throw new Error(`mkfs.ext4 cannot make a file system with room for ${bytes} bytes`);
}

/** Linux keeps these for tables of files; nobody can write data into them. */
function keptBlocks(blocks: number): number {
  return Math.min(Math.floor(blocks / 50), 4096);
}

/** Without a journal: it would take megabytes of the limit, and only a crash of the host's OS needs it. */
async function format(path: string, blocks: number, fileCount: number): Promise<void> {
  await rm(path, { force: true });
  const file = await open(path, "wx", 0o600);
  await file.truncate(blocks * blockBytes).finally(() => file.close());
  const features = ["-O", "^has_journal,^resize_inode", "-E", "lazy_itable_init=1,nodiscard,root_owner=0:0"];
  const sizes = ["-b", String(blockBytes), "-I", "256", "-m", "0", "-N", String(fileCount)];
  await runTool("mkfs.ext4", ["-q", "-F", ...sizes, ...features, "--", path]);
}

export async function readImage(path: string): Promise<{ blocks: number; freeBlocks: number; isClean: boolean }> {
  const file = await open(path, "r");
  try {
    const bytes = Buffer.alloc(superblock.length);
    await file.read(bytes, 0, bytes.length, superblock.at);
    return {
      blocks: bytes.readUInt32LE(superblock.blocks),
      freeBlocks: bytes.readUInt32LE(superblock.freeBlocks),
      isClean: (bytes.readUInt16LE(superblock.state) & isClean) !== 0,
    };
  } finally {
    await file.close();
  }
}

/**
 * Mounts an image. `mount` uses the loop device that the image already has, if there is one: two devices for one image would
 * destroy the file system.
 */
export async function mountImage(image: string, directory: string): Promise<void> {
  // noinit_itable: otherwise Linux fills the tables with zeros in the background, and the image is no longer sparse
  await runTool("mount", ["-t", "ext4", "-o", "loop,nosuid,nodev,noinit_itable", "--", image, directory]);
}

/** Repairs a file system that was mounted when the host's OS crashed. Must not be called while it is mounted. */
export async function repairImage(image: string): Promise<void> {
  // its exit codes 1 and 2 say that errors were corrected
  await runTool("e2fsck", ["-p", "-f", "--", image]).catch((error: Error & { cause?: { code?: unknown } }) => {
    if (error.cause?.code !== 1 && error.cause?.code !== 2) throw error;
  });
}

/** Unmounts a directory. False: something in it is in use. */
export async function unmount(directory: string, { isLazy = false } = {}): Promise<boolean> {
  return runTool("umount", [...(isLazy ? ["--lazy"] : []), "--", directory]).then(
    () => true,
    () => false,
  );
}

/** Opens a mounted directory: it cannot be unmounted, except lazily, until the handle is closed. Undefined: nothing is mounted there. */
export async function openMounted(directory: string): Promise<FileHandle | undefined> {
  const parent = await open(join(directory, ".."), "r");
  const handle = await open(directory, "r").catch(async (error: unknown) => {
    await parent.close();
    throw error;
  });
  const [inside, outside] = await Promise.all([handle.stat(), parent.stat()]).finally(() => parent.close());
  if (inside.dev !== outside.dev) return handle;
  await handle.close();
  return undefined;
}
