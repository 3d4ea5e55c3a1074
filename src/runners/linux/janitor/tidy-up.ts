import { closeSync, lstatSync, openSync, readdirSync, readSync, rmdirSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import type { JanitorOwner } from "./janitor.ts";

/**
 * Does the janitor's work in this process, where it takes 5 ms instead of 50, and says whether nothing is left. Gives up on
 * whatever needs care: a process that still runs, a cgroup that is in use, a directory of another user (its owner could
 * replace it with a link while we delete as root) or another file system. Then the janitor does it.
 */
export function tidyUp({ tag, cgroupDirs, directories }: JanitorOwner): boolean {
  try {
    if (hasProcess(tag)) return false;
    for (const directory of cgroupDirs) {
      const groups = readdirSync(directory).filter((name) => name.startsWith(`${tag}-`));
      for (const name of groups) rmdirSync(join(directory, name));
    }
    for (const path of directories) removeOwn(path);
    return true;
  } catch {
    return false;
  }
}

/** Whether a process has exactly the tag as an argument. The janitor itself has it in a path. */
function hasProcess(tag: string): boolean {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  // One buffer for all: readFileSync allocates 64 KiB for each, because files of /proc have no size.
  const buffer = Buffer.allocUnsafe(64 * 1024);
  return pids.some((pid) => {
    try {
      return argumentsOf(pid, buffer).split("\0").includes(tag);
    } catch {
      return false; // it has exited
    }
  });
}

/** The arguments of a process, each with a NUL after it. Our own processes have the tag far before the end of the buffer. */
function argumentsOf(pid: string, buffer: Buffer): string {
  const file = openSync(`/proc/${pid}/cmdline`, "r");
  try {
    return buffer.toString("latin1", 0, readSync(file, buffer, 0, buffer.length, 0));
  } finally {
    closeSync(file);
  }
}

function removeOwn(path: string): void {
  const top = lstatSync(path, { throwIfNoEntry: false });
  if (top === undefined) return;
  const remove = (one: string) => {
    const stats = lstatSync(one);
    if (!stats.isDirectory()) return unlinkSync(one);
    if (stats.dev !== top.dev || stats.uid !== process.getuid?.()) throw new Error(`${one} needs care`);
    for (const name of readdirSync(one)) remove(join(one, name));
    rmdirSync(one);
  };
  remove(path);
}
