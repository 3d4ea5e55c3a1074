import { lstat, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { CodecellError } from "../../lib/errors.ts";

/**
 * Where sockets and the kernel's files live while they are used. It is a neutral place, because a cell can read the
 * source of each of its mounts in /proc/self/mountinfo and would learn a user's name from a home directory.
 */
export async function openRuntimeDir(requested?: string): Promise<string> {
  const uid = process.getuid?.() ?? 0;
  const path = requested ?? defaultPath(uid);
  // As root, cells run under other uids: they may pass through, and list nothing.
  await mkdir(path, { recursive: true, mode: uid === 0 ? 0o711 : 0o700 });
  const stats = await lstat(path);
  // Stops another user of this machine who made the directory first, to plant files that we would execute.
  if (!stats.isDirectory() || stats.uid !== uid || (stats.mode & 0o022) !== 0) {
    throw new CodecellError("cell_start_failed", `${path} is not a directory that only this user can write`, {
      hint: "remove it, or set XDG_RUNTIME_DIR to a private directory",
    });
  }
  return path;
}

function defaultPath(uid: number): string {
  if (uid === 0) return "/run/codecell";
  const runtime = process.env.XDG_RUNTIME_DIR;
  return runtime ? join(runtime, "codecell") : `/tmp/codecell-${uid}`;
}
