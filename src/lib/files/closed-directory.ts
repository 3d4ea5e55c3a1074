import { realpath, stat } from "node:fs/promises";
import { dirname } from "node:path";

/** The directory on the way to `path`, itself included, that users without a right to it cannot enter. Undefined: there is none. */
export async function closedDirectory(path: string): Promise<string | undefined> {
  // Both are on the way, if the path goes through a symbolic link.
  for (const way of new Set([path, await realpath(path)])) {
    for (let at = way; at !== dirname(at); at = dirname(at)) {
      if (((await stat(at)).mode & 0o001) === 0) return at;
    }
  }
  return undefined;
}
