import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { CodecellError } from "../../../lib/errors.ts";
import { type CgroupFiles, errorCode, readOptional } from "./cgroup-files.ts";

/** The first retries come soon, because a killed process is usually gone within a millisecond. */
const retryMs = (attempt: number) => Math.min(attempt, 5);
const removalTries = 400;
const killRounds = 50;

/** Kills in rounds until no process is left, because a fork bomb starts new ones meanwhile. */
export async function killMembers(directories: readonly string[], files: CgroupFiles): Promise<void> {
  for (let round = 0; round < killRounds; round++) {
    if ((await killPresent(directories, files)) === 0) return;
    await sleep(retryMs(round + 1));
  }
}

/** Kills the processes that are there now, and says how many. `spared` is the pid of one that stays. */
export async function killPresent(directories: readonly string[], files: CgroupFiles, spared = 0): Promise<number> {
  const lists = await Promise.all(directories.map((path) => readOptional(join(path, "cgroup.procs"), files)));
  const pids = new Set(lists.flatMap((list) => list.split("\n").filter(Boolean).map(Number)));
  // 0 is a process in another pid namespace, but kill(2) would take it for codecell's own process group
  for (const kept of [0, 1, process.pid, spared]) pids.delete(kept);
  for (const pid of pids) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // it has already exited
    }
  }
  return pids.size;
}

/** Retries, because a group stays busy for some milliseconds after its last process exited. */
export async function removeCgroup(directory: string, files: CgroupFiles): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await files.rmdir(directory);
    } catch (error) {
      if (errorCode(error) === "ENOENT") return;
      if (errorCode(error) !== "EBUSY" || attempt === removalTries) {
        throw new CodecellError("internal", "a cgroup could not be removed", { cause: error, details: { directory } });
      }
    }
    await sleep(retryMs(attempt));
  }
}
