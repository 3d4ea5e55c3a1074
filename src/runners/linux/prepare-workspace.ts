import { lchown, lstat, opendir } from "node:fs/promises";
import { join } from "node:path";
import { makeDirectories } from "../../lib/files/make-directories.ts";

/**
 * Makes a session's directory and gives it, with what is in it, to the uid that its cell runs under. No cell is in it
 * yet, so nothing can be swapped meanwhile; links are given away and not followed.
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
