import { mkdir, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";

/**
 * A directory and those above it that are missing, all with this mode. Node's own does not return below a directory in
 * which nothing can be made, such as /proc: it takes the answer for a missing parent, again and again.
 */
export async function makeDirectories(path: string, mode: number): Promise<void> {
  const wanted = resolve(path);
  if (await isMade(wanted, mode)) return;
  await makeDirectories(dirname(wanted), mode);
  if (!(await isMade(wanted, mode))) await mkdir(wanted, mode); // fails with the reason
}

/** False: a directory above it is missing, or the place takes none. */
async function isMade(path: string, mode: number): Promise<boolean> {
  try {
    await mkdir(path, mode);
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" && dirname(path) !== path) return false;
    // Whatever it says of one that is there: EEXIST, or EROFS and EACCES on the way to where it could be made.
    if ((await stat(path).catch(() => undefined))?.isDirectory()) return true;
    throw error;
  }
}
