import { execFile } from "node:child_process";
import { rm } from "node:fs/promises";
import { promisify } from "node:util";

const run = promisify(execFile);

/**
 * Removes a directory that untrusted code has written in. The attack: directories so deep that their paths are longer than
 * the system takes, which stay for ever and stop whoever tries to remove them. `rm` walks by descriptors and needs no paths.
 */
export async function removeTree(path: string): Promise<void> {
  try {
    await rm(path, { recursive: true, force: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENAMETOOLONG") throw error;
    await run("rm", ["-rf", "--", path], { env: { PATH: "/usr/bin:/bin" } });
  }
}
