import type { Policy } from "../policy/schema.ts";
import type { Answer } from "./answer-rules.ts";

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
