import { execFile } from "node:child_process";
import { chown, lstat, readdir } from "node:fs/promises";
import { promisify } from "node:util";
import { makeDirectories } from "../../../lib/files/make-directories.ts";

const run = promisify(execFile);

/**
 * Creates a session's directory and gives it, with its content, to the cell's uid. No cell uses it yet, so nothing can
 * swap files meanwhile. Symlinks are not followed.
 */
export async function prepareWorkspace(directory: string | undefined, uid: number | undefined): Promise<void> {
  if (directory === undefined) return;
  await makeDirectories(directory, 0o700);
  if (uid === undefined || (await lstat(directory)).uid === uid) return;
  if ((await readdir(directory)).length === 0) return await chown(directory, uid, uid);
  // Of a saved session, if its last uid is not free. The program needs no paths, which code can make longer than Linux accepts,
  // and takes a thirtieth of the time. It changes the directory itself last: if it is killed, the next start does it again.
  await run("chown", ["-hR", `${uid}:${uid}`, "--", directory], { env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin" } });
}
