import { dirname } from "node:path";
import { CodecellError } from "../errors.ts";

const elsewhere = "choose another directory with --state-dir or XDG_STATE_HOME";

/** Error codes of the OS, as a reason and a hint. */
const reasons: Readonly<Record<string, readonly [reason: string, hint: string]>> = {
  ENOSPC: ["there is no space left on the disk", `free some space, or ${elsewhere}`],
  EDQUOT: ["the disk quota is used up", `free some space, or ${elsewhere}`],
  EROFS: ["the disk is read-only", elsewhere],
  EACCES: ["permission denied", `fix its permissions, or ${elsewhere}`],
  EPERM: ["permission denied", `fix its permissions, or ${elsewhere}`],
  ENOTDIR: ["a part of its path is a file, not a directory", `move that file, or ${elsewhere}`],
  EEXIST: ["there is a file where a directory is needed", `move that file, or ${elsewhere}`],
  EISDIR: ["there is a directory where a file is needed", `move it, or ${elsewhere}`],
  ENOENT: ["no directory can be created there", elsewhere],
  EIO: ["the disk reports an I/O error", "check the disk"],
};

const writeFailures = new Set(["ENOSPC", "EDQUOT", "EROFS"]);

/** System calls on files. Others can fail with the same codes: EACCES for a port, for example. */
const fileCalls =
  /^(?:open|read|write|close|f?sync|fdatasync|rename|unlink|rm|rmdir|mkdir|scandir|l?stat|ch(?:mod|own)|copyfile|access)$/;

/** Locks are sockets: where no file can be created, they are what fails first. Addresses with a port have no path. */
function directoryOfSocket({
  syscall,
  address,
}: NodeJS.ErrnoException & { readonly address?: unknown }): string | undefined {
  const isPath = syscall === "listen" && typeof address === "string" && address.startsWith("/");
  return isPath ? dirname(address) : undefined;
}

/** An error that explains a failure of the disk or of a path; undefined for other failures. */
export function diskFailure(error: unknown): CodecellError | undefined {
  if (error instanceof CodecellError || !(error instanceof Error)) return undefined;
  const { code, syscall, path, dest } = error as NodeJS.ErrnoException & { readonly dest?: string };
  const socketDirectory = directoryOfSocket(error);
  if (code === undefined || syscall === undefined) return undefined;
  if (!fileCalls.test(syscall) && socketDirectory === undefined) return undefined;
  const known = reasons[code];
  // a missing file is not a failure of the disk
  if (known === undefined || (code === "ENOENT" && syscall !== "mkdir")) return undefined;
  const [reason, hint] = known;
  // a copy runs out of space where it is written, not where it is read
  const place = writeFailures.has(code) ? (dest ?? path ?? socketDirectory) : (path ?? socketDirectory);
  const message = place === undefined ? reason : `${place} cannot be used: ${reason}`;
  return new CodecellError("disk_failed", message, { hint, cause: error });
}
