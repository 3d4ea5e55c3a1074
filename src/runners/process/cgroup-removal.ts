import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { CodecellError } from "../../lib/errors.ts";
import { type CgroupFiles, errorCode, readOptional } from "./cgroup-files.ts";

const retryMs = 5;
const removalTries = 400;
const killRounds = 50;

/** Kills in rounds until no process is left, because a fork bomb starts new ones meanwhile. */
export async function killMembers(directories: readonly string[], files: CgroupFiles): Promise<void> {
  for (let round = 0; round < killRounds; round++) {
    const lists = await Promise.all(directories.map((path) => readOptional(join(path, "cgroup.procs"), files)));
    const pids = new Set(lists.flatMap((list) => list.split("\n").filter(Boolean).map(Number)));
    // 0 is a process in another pid namespace, but kill(2) would take it for codecell's own process group
    for (const own of [0, 1, process.pid]) pids.delete(own);
    if (pids.size === 0) return;
    for (const pid of pids) {
      try {
        process.kill(pid, "SIGKILL");
      } catch {
        // it has already exited
      }
    }
    await sleep(retryMs);
  }
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
    await sleep(retryMs);
  }
}
