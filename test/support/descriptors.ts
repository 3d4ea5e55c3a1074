import { readdirSync, readlinkSync } from "node:fs";

/** What the descriptors of a process lead to, without those that differ from look to look. */
export function descriptors(pid: number): string[] {
  return readdirSync(`/proc/${pid}/fd`).flatMap((name) => {
    try {
      const target = readlinkSync(`/proc/${pid}/fd/${name}`);
      return target.startsWith("/proc/") ? [] : [target];
    } catch {
      return []; // the one that we looked through
    }
  });
}

/** Sockets of a process; each has a number of its own on this machine. */
export function sockets(pid: number): string[] {
  return descriptors(pid).filter((target) => target.startsWith("socket:"));
}
