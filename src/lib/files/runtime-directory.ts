import { lstatSync } from "node:fs";
import { resolve } from "node:path";
import { CodecellError } from "../errors.ts";
import { makeDirectories } from "./make-directories.ts";
import { runtimePath } from "./runtime-path.ts";

/**
 * The directory for sockets and files of running processes. Its path is short, because sockets need that, and has no user name
 * in it, because code in a cell can see it as the source of a mount.
 */
export async function openRuntimeDirectory(requested?: string): Promise<string> {
  const uid = process.getuid?.() ?? 0;
  const path = resolve(requested ?? runtimePath(uid, process.env.XDG_RUNTIME_DIR));
  // As root, other users may traverse it to their own files, but not list it.
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined) await makeDirectories(path, uid === 0 ? 0o711 : 0o700);
  const stats = lstatSync(path);
  // The attack: another user creates the directory first, to plant files that we would execute.
  if (!stats.isDirectory() || stats.uid !== uid || (stats.mode & 0o022) !== 0) {
    throw new CodecellError("cell_start_failed", `${path} is not a directory that only this user can write`, {
      hint: "remove it, or set XDG_RUNTIME_DIR to a private directory",
    });
  }
  return path;
}
