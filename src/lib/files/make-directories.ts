import { mkdir, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";

/**
 * Creates a directory and its missing parents, all with this mode. Node's recursive mkdir never returns below a directory such
 * as /proc, in which nothing can be created: it mistakes the error for a missing parent.
 */
export async function makeDirectories(path: string, mode: number): Promise<void> {
  const wanted = resolve(path);
  if (await isMade(wanted, mode)) return;
  await makeDirectories(dirname(wanted), mode);
  if (!(await isMade(wanted, mode))) await mkdir(wanted, mode); // throws the reason
}

/** False: a parent is missing, or no directory can be created there. */
async function isMade(path: string, mode: number): Promise<boolean> {
  try {
    await mkdir(path, mode);
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" && dirname(path) !== path) return false;
    // An existing directory gives EEXIST, or EROFS or EACCES where nothing may be created.
    if ((await stat(path).catch(() => undefined))?.isDirectory()) return true;
    throw error;
  }
}
