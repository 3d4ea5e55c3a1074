import { lstat, rename, rm, stat, symlink } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { CodecellError } from "../../../../lib/errors.ts";
import { removeTree } from "../../../../lib/files/remove-tree.ts";
import { syncDirectory } from "../../../../lib/files/sync-directory.ts";
import { type Logger, silentLogger } from "../../../../lib/log/logger.ts";
import { formatSize } from "../../../../policy/format-units.ts";
import type { SessionWorkspace } from "../../../runner.ts";
import { runTool } from "./run-tool.ts";
import { type DiskPaths, pinImage, removeImage } from "./session-disk.ts";

interface MoveOptions {
  readonly run?: typeof runTool;
  readonly sync?: typeof syncDirectory;
  readonly logger?: Logger;
}

/**
 * Makes a disk that of a session, with the files that the session had so far: in a directory, or on a disk of another size. No
 * cell of the session runs. If this process is killed meanwhile, `finishMove` gives the session its old files or the new disk.
 * It fails only while the session still has its old files: the caller then removes the disk.
 */
export async function moveFiles(
  workspace: SessionWorkspace,
  old: DiskPaths | undefined,
  disk: DiskPaths,
  bytes: number,
  { run = runTool, sync = syncDirectory, logger = silentLogger }: MoveOptions = {},
): Promise<void> {
  const path = join(workspace.root, workspace.name);
  const link = `${path}.link`;
  const target = relative(workspace.root, disk.directory);
  if (old) {
    const pinned = await pinImage(old);
    try {
      await copyFiles(old.directory, disk, bytes, run);
      await symlink(target, link);
      await rename(link, path);
    } catch (error) {
      await pinned.letGo();
      throw error;
    }
    await tidy(async () => {
      await pinned.letGo();
      await sync(workspace.root);
      await removeImage(old);
    }, logger);
  } else if (await exists(path)) {
    await copyFiles(path, disk, bytes, run);
    await symlink(target, link);
    const aside = `${path}.old`;
    await rename(path, aside);
    await rename(link, path).catch(async (error: unknown) => {
      await rename(aside, path);
      throw error;
    });
    await tidy(async () => {
      await sync(workspace.root);
      await removeTree(aside);
    }, logger);
  } else await symlink(target, path);
}

/** The session has the new disk. What fails now is left for `finishMove` and for who removes the disks of dead processes. */
async function tidy(work: () => Promise<void>, logger: Logger): Promise<void> {
  await work().catch((error: unknown) =>
    logger.warn("files that a session had on another disk are left over", { error }),
  );
}

/** Undoes or finishes a move that a killed process began. `name` is what it left in the directory of the workspaces. */
export async function finishMove(root: string, name: string): Promise<void> {
  if (name.endsWith(".link")) await rm(join(root, name), { force: true });
  if (!name.endsWith(".old")) return;
  const path = join(root, name.slice(0, -".old".length));
  if (await leadsSomewhere(path)) await removeTree(join(root, name));
  else {
    await rm(path, { force: true }); // a link to a disk that is gone
    await rename(join(root, name), path);
  }
}

/** `cp` does not follow links, and keeps owners, holes and hard links. The copy survives a power cut when this returns. */
async function copyFiles(from: string, { image, directory }: DiskPaths, bytes: number, run: typeof runTool) {
  await run("cp", ["--archive", "--", `${from}/.`, directory]).catch((cause: unknown) => {
    throw new CodecellError(
      "cell_start_failed",
      `the files of the session do not fit proc.disk (${formatSize(bytes)})`,
      {
        hint: "delete files with `codecell artifacts rm`, raise proc.disk, or set proc.exactDisk to false",
        cause,
        details: { rule: "proc.disk" },
      },
    );
  });
  try {
    await run("sync", ["--file-system", "--", directory]);
    await syncDirectory(dirname(image));
  } catch (cause) {
    throw new CodecellError("disk_failed", "the files of the session could not be written to a disk of their own", {
      hint: "they are unchanged: check the disk of the state directory, free some space, and try again",
      cause,
    });
  }
}

async function leadsSomewhere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    ({ code }: NodeJS.ErrnoException) => code !== "ENOENT",
  );
}

async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}
