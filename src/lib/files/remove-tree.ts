import { execFile } from "node:child_process";
import { rm } from "node:fs/promises";
import { promisify } from "node:util";

const run = promisify(execFile);
const env = { PATH: "/usr/bin:/bin" };
const stubborn: ReadonlySet<unknown> = new Set(["ENAMETOOLONG", "EACCES", "EPERM"]);

/**
 * Removes a directory in which untrusted code has written. The attack: directories that are too deep for a path of the OS, or
 * that their owner may not read, so that they can never be removed. `chmod` and `rm` walk by descriptors: they need no long
 * paths, and a program that still runs there cannot redirect them with a link.
 */
export async function removeTree(path: string): Promise<void> {
  try {
    await rm(path, { recursive: true, force: true });
  } catch (error) {
    if (!stubborn.has((error as NodeJS.ErrnoException).code)) throw error;
    await run("chmod", ["-R", "u+rwx", "--", path], { env }).catch(() => {}); // `rm` reports what is left
    await run("rm", ["-rf", "--", path], { env });
  }
}
