import { lchown, lstat, opendir } from "node:fs/promises";
import { join } from "node:path";
import { makeDirectories } from "../../lib/files/make-directories.ts";

/**
 * Creates a session's directory and gives it, with its content, to the cell's uid. No cell uses it yet, so nothing can
 * swap files meanwhile. Symlinks are not followed.
 */
export async function prepareWorkspace(directory: string | undefined, uid: number | undefined): Promise<void> {
  if (directory === undefined) return;
  await makeDirectories(directory, 0o700);
  if (uid === undefined || (await lstat(directory)).uid === uid) return;
  const waiting = [directory];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    for await (const entry of await opendir(path)) {
      const full = join(path, entry.name);
      if (entry.isDirectory()) waiting.push(full);
      else await lchown(full, uid, uid);
    }
    await lchown(path, uid, uid);
  }
}
