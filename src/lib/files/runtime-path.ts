import { lstatSync } from "node:fs";
import { join } from "node:path";

/**
 * `$XDG_RUNTIME_DIR/codecell`. Cells of root run under another uid, so root uses it only if it is root's own and other users may
 * enter it. The `/run/user/0` of a login is closed to them.
 */
export function runtimePath(uid: number, runtime: string | undefined): string {
  if (uid !== 0) return runtime ? join(runtime, "codecell") : `/tmp/codecell-${uid}`;
  const stats = runtime?.startsWith("/") ? lstatOf(runtime) : undefined;
  const isUsable = stats?.isDirectory() && stats.uid === 0 && (stats.mode & 0o001) !== 0 && (stats.mode & 0o022) === 0;
  return runtime && isUsable ? join(runtime, "codecell") : "/run/codecell";
}

function lstatOf(path: string) {
  try {
    return lstatSync(path);
  } catch {
    return undefined;
  }
}
