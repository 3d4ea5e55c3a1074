import { randomInt } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { dirname } from "node:path";
import process from "node:process";

/** The user of the cell's process. */
export interface ChildIdentity {
  readonly spawn: { readonly uid?: number; readonly gid?: number };
  /** the process stays root, because no other user can read its files */
  readonly staysRoot: boolean;
}

/** A private unprivileged user if codecell runs as root, otherwise the same user. The user must be able to read `paths`. */
export function childIdentity(paths: readonly string[]): ChildIdentity {
  if (process.getuid?.() !== 0) return { spawn: {}, staysRoot: false };
  const id = unusedId(readFileSync("/proc/self/uid_map", "utf8"));
  if (id === undefined || !paths.every(isReadableByOthers)) return { spawn: {}, staysRoot: true };
  return { spawn: { uid: id, gid: id }, staysRoot: false };
}

/** A high id that no account has. In a container with few ids, one of the highest. */
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
