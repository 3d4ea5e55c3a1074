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

/**
 * What a process has open now and did not have open before. A count would compare too much: a file that an earlier test left open may be
 * closed meanwhile, and would hide a descriptor that leaks.
 */
export function openedSince(before: readonly string[], pid: number): string[] {
  const known = [...before];
  return descriptors(pid).filter((target) => {
    const place = known.indexOf(target);
    if (place >= 0) known.splice(place, 1);
    return place < 0;
  });
}

/** The sockets of a process, each with a number that is unique on this machine. */
export function sockets(pid: number): string[] {
  return descriptors(pid).filter((target) => target.startsWith("socket:"));
}
