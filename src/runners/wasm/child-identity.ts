import { randomInt } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { dirname } from "node:path";
import process from "node:process";

/** Who the cell's process runs as. */
export interface ChildIdentity {
  readonly spawn: { readonly uid?: number; readonly gid?: number };
  /** the process keeps root's identity because nothing else can reach its files */
  readonly staysRoot: boolean;
}

/** As root, an unprivileged user of its own; otherwise the caller's. `paths` are what that user must be able to read. */
export function childIdentity(paths: readonly string[]): ChildIdentity {
  if (process.getuid?.() !== 0) return { spawn: {}, staysRoot: false };
  const id = unusedId(readFileSync("/proc/self/uid_map", "utf8"));
  if (id === undefined || !paths.every(isReadableByOthers)) return { spawn: {}, staysRoot: true };
  return { spawn: { uid: id, gid: id }, staysRoot: false };
}

/** A high id that no account has; inside a container with few ids, one near their end. */
export function unusedId(uidMap: string): number | undefined {
  const ranges = uidMap
    .trim()
    .split("\n")
    .map((line) => line.trim().split(/\s+/).map(Number));
  const isMapped = (id: number) => ranges.some(([first = 0, , count = 0]) => id >= first && id < first + count);
  return [2_000_000_000 + randomInt(100_000), 60_000 + randomInt(5000)].find(isMapped);
}

function isReadableByOthers(path: string): boolean {
  for (let at = path; ; at = dirname(at)) {
    const { mode } = statSync(at);
    const needed = at === path ? 0o005 : 0o001;
    if ((mode & needed) !== needed) return false;
    if (at === dirname(at)) return true;
  }
}
