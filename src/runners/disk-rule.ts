import type { Policy } from "../policy/schema.ts";
import { type Answer, byHost, byOs } from "./answer-rules.ts";
import { mostFiles } from "./linux/disk/image/disk-image.ts";
import type { ImageSupport } from "./linux/disk/image/image-support.ts";

/** What decides who holds `proc.disk`. */
export interface DiskFacts {
  /** the session has its own directory on the host */
  readonly hasSessionDirectory: boolean;
  /** absent: `proc.exactDisk` is false */
  readonly images?: ImageSupport | undefined;
}

/** The answer to `proc.disk` for a file system of the session's own. Undefined: it has none. */
export function ownFileSystem(policy: Policy, { hasSessionDirectory }: DiskFacts): Answer | undefined {
  if (!policy.proc.exactDisk || !hasSessionDirectory || policy.fs.workspace) return undefined;
  const files = mostFiles(policy.proc.diskBytes);
  const what = `size of the session's own ext4 file system on a loop device, with at most ${files} files; deleted files count`;
  return byOs(what + uncountedMounts(policy));
}

/** Whether every place where code can write has a size that its file system enforces. */
export function isDiskExact({ proc, fs }: Policy): boolean {
  return proc.exactDisk && fs.workspace === undefined && fs.mounts.every(({ mode }) => mode === "ro");
}

/** The largest file that code can write. Where the disk itself ends, it ends first, with ENOSPC and not with EFBIG. */
export function largestFileBytes(policy: Policy): number {
  return policy.proc.diskBytes * (isDiskExact(policy) ? 2 : 1);
}

/** The answer to `proc.exactDisk` where the cell's files are on the host. */
export function exactDisk({ proc, fs }: Policy, { hasSessionDirectory, images }: DiskFacts): Answer {
  if (!proc.exactDisk) return byHost("not requested: the row of proc.disk says who enforces that limit");
  if (fs.workspace) {
    return {
      reason: "fs.workspace is a directory of the host, which is not a file system of the session's own",
      hint: "remove fs.workspace, or set proc.exactDisk to false",
    };
  }
  if (!hasSessionDirectory) return byOs("the workspace is a tmpfs of this size");
  if (images?.isAvailable === false) return { reason: images.reason, hint: images.hint };
  return byOs("each session has a file system of its own, in an image on a loop device");
}

/** The answer to `proc.disk` for a directory on the host, which codecell measures. */
export function measuredDirectory(policy: Policy, { seesDeleted }: { seesDeleted: boolean }, rest = ""): Answer {
  const what = seesDeleted
    ? "measures the directory, and deleted files that are still open, while code runs"
    : "measures the directory while code runs, but not deleted files that are still open";
  return { by: "host watchdog", how: `${what}; RLIMIT_FSIZE for each file${rest}${uncountedMounts(policy)}` };
}

/** What a receipt adds to `proc.disk` if code can write to directories that do not count. */
export function uncountedMounts({ fs }: Policy): string {
  return fs.mounts.some(({ mode }) => mode !== "ro") ? "; files in writable mounts are not counted" : "";
}
