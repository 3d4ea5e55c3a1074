import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import { limits } from "../scenarios.ts";
import type { StartHostCheck } from "./host-check.ts";

/** The watch of `proc.disk` reacts after a file was written, so a program gets a little further than the limit. */
const allowedBytes = 4 * limits.diskMiB * 2 ** 20;
const sampleMs = 50;

/** Sees the files of a scenario's sessions take more of the host's disk than the limit. */
export const watchDisk: StartHostCheck = async ({ attack, cells }) => {
  const directory = cells.stateDir(attack.scenario ?? "plain");
  let most = 0;
  let isStopped = false;
  const sampling = (async () => {
    while (!isStopped) {
      most = Math.max(most, await usedBytes(directory));
      await new Promise((resolve) => setTimeout(resolve, sampleMs));
    }
  })();
  return async () => {
    isStopped = true;
    await sampling;
    most = Math.max(most, await usedBytes(directory));
    const mib = Math.round(most / 2 ** 20);
    return most > allowedBytes
      ? `its files took ${mib} MiB of the host's disk; the limit is ${limits.diskMiB}`
      : undefined;
  };
};

/** Bytes on disk of the files below a directory. Bounded: an attack may make very many. */
async function usedBytes(root: string): Promise<number> {
  let bytes = 0;
  const pending = [root];
  let seen = 0;
  for (let path = pending.pop(); path !== undefined && seen < 20_000; path = pending.pop()) {
    for (const entry of await readdir(path, { withFileTypes: true }).catch(() => [])) {
      seen++;
      const below = join(path, entry.name);
      if (entry.isDirectory()) pending.push(below);
      else bytes += (await lstat(below).catch(() => ({ blocks: 0 }))).blocks * 512;
    }
  }
  return bytes;
}
