import { randomBytes } from "node:crypto";
import { chmod, readdir, rename, rm, rmdir, unlink } from "node:fs/promises";
import { join } from "node:path";

/**
 * Removes a directory that others have filled. Whatever is in it: `rm` of Node gives up at a path that is too long to be
 * named and at a directory that its owner may not read, and a program can leave both behind.
 */
export async function removeTree(path: string): Promise<void> {
  try {
    await rm(path, { recursive: true, force: true });
  } catch (error) {
    if (!isStubborn(error)) throw error;
    await flatten(path);
    await rm(path, { recursive: true, force: true });
  }
}

/** Empties the directories one by one, each of which is moved to the top first: no path gets longer than two names. */
async function flatten(root: string): Promise<void> {
  const prefix = `.${randomBytes(8).toString("hex")}-`;
  const waiting = [""];
  let moved = 0;
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    const directory = join(root, name);
    await chmod(directory, 0o700);
    for (const entry of await readdir(directory, { withFileTypes: true })) {
      const path = join(directory, entry.name);
      if (!entry.isDirectory()) {
        await unlink(path);
      } else if (!(name === "" && entry.name.startsWith(prefix))) {
        await chmod(path, 0o700); // moving changes what `..` is in it
        const next = `${prefix}${++moved}`;
        await rename(path, join(root, next));
        waiting.push(next);
      }
    }
    if (name !== "") await rmdir(directory);
  }
}

function isStubborn(error: unknown): boolean {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return code === "ENAMETOOLONG" || code === "EACCES" || code === "EPERM";
}
