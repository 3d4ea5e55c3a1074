import { lstatSync } from "node:fs";
import { join } from "node:path";
import { namespaceRoot } from "./namespace-root.ts";

/** not the user's other one, which is closed to the uids of cells */
const inTmp = "/tmp/codecell-users-";

/**
 * `$XDG_RUNTIME_DIR/codecell`. Cells of root run under another uid, so root uses it only if it is root's own and other users may
 * enter it. The `/run/user/0` of a login is closed to them. Root of a user namespace has none of the machine's directories.
 */
export function runtimePath(uid: number, runtime: string | undefined): string {
  const named = runtime?.startsWith("/") ? runtime : undefined; // a relative one is ignored, as the specification says
  if (uid !== 0) return named ? join(named, "codecell") : `/tmp/codecell-${uid}`;
  const stats = named === undefined ? undefined : lstatOf(named);
  const isUsable = stats?.isDirectory() && stats.uid === 0 && (stats.mode & 0o001) !== 0 && (stats.mode & 0o022) === 0;
  if (named && isUsable) return join(named, "codecell");
  const user = namespaceRoot(uid);
  return user === undefined ? "/run/codecell" : `${inTmp}${user}`;
}

/** The same, unless it is in /tmp: programs are often given all of it. */
export function privateRuntimePath(uid: number, runtime: string | undefined): string | undefined {
  if (uid !== 0 && !runtime?.startsWith("/")) return undefined;
  const path = runtimePath(uid, runtime);
  return uid === 0 && path.startsWith(inTmp) ? undefined : path;
}

function lstatOf(path: string) {
  try {
    return lstatSync(path);
  } catch {
    return undefined;
  }
}
