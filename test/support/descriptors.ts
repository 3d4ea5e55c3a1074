import { readdirSync, readlinkSync } from "node:fs";

/** The targets of a process's file descriptors, without those that differ between two calls. */
export function descriptors(pid: number): string[] {
  return readdirSync(`/proc/${pid}/fd`).flatMap((name) => {
    try {
      const target = readlinkSync(`/proc/${pid}/fd/${name}`);
      return target.startsWith("/proc/") ? [] : [target];
    } catch {
      return []; // the descriptor of this very listing
    }
  });
}

/** The sockets of a process, each with a number that is unique on this machine. */
export function sockets(pid: number): string[] {
  return descriptors(pid).filter((target) => target.startsWith("socket:"));
}
