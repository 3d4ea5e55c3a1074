import { CodecellError } from "../errors.ts";

const elsewhere = "name another place with --state-dir or XDG_STATE_HOME";

/** What a system says about a place, in words, and what to do about it. */
const reasons: Readonly<Record<string, readonly [reason: string, hint: string]>> = {
  ENOSPC: ["there is no space left on the disk", `make room there, or ${elsewhere}`],
  EDQUOT: ["the quota of the disk is used up", `make room there, or ${elsewhere}`],
  EROFS: ["the disk is read-only", elsewhere],
  EACCES: ["this user may not use it", `correct its permissions, or ${elsewhere}`],
  EPERM: ["this user may not use it", `correct its permissions, or ${elsewhere}`],
  ENOTDIR: ["a part of its path is a file and no directory", `move that file, or ${elsewhere}`],
  EEXIST: ["there is a file where a directory is needed", `move that file, or ${elsewhere}`],
  EISDIR: ["there is a directory where a file is needed", `move it, or ${elsewhere}`],
  ENOENT: ["nothing can be made there", elsewhere],
  EIO: ["the disk does not answer", "look at the disk"],
};

/** Calls that have to do with files: a port that may not be opened says EACCES, too. */
const fileCalls =
  /^(?:open|read|write|close|f?sync|fdatasync|rename|unlink|rm|rmdir|mkdir|scandir|l?stat|ch(?:mod|own)|copyfile|access)$/;

/** A failure of the disk, or of a place on it, told as what it is; undefined for every other failure. */
export function diskFailure(error: unknown): CodecellError | undefined {
  if (error instanceof CodecellError || !(error instanceof Error)) return undefined;
  const { code, syscall, path } = error as NodeJS.ErrnoException;
  if (code === undefined || syscall === undefined || !fileCalls.test(syscall)) return undefined;
  const known = reasons[code];
  // a file that is missing is nothing the disk has done
  if (known === undefined || (code === "ENOENT" && syscall !== "mkdir")) return undefined;
  const [reason, hint] = known;
  const message = path === undefined ? reason : `${path} cannot be used: ${reason}`;
  return new CodecellError("disk_failed", message, { hint, cause: error });
}
