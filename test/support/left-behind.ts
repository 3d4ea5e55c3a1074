import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { hostProcesses } from "./process-cells.ts";

const cgroupRoots = readFileSync("/proc/self/mountinfo", "utf8")
  .split("\n")
  .filter((line) => / - cgroup2? /.test(line))
  .map((line) => line.split(" ")[4] as string);

/** What hosts with these tags left on the machine: processes with a tag in their command line, and groups named after it. */
export function leftBehind(tags: readonly string[]): { processes: string[]; cgroups: string[] } {
  return {
    processes: hostProcesses()
      .filter(({ command }) => tags.some((tag) => command.includes(tag)))
      .map(({ command }) => command.slice(0, 200)),
    cgroups: cgroupRoots.flatMap((root) => groupsNamed(root, tags)),
  };
}

/** Groups that a host created, wherever its own group is. */
function groupsNamed(root: string, tags: readonly string[], depth = 4): string[] {
  if (depth === 0 || tags.length === 0) return [];
  try {
    return readdirSync(root, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .flatMap(({ name }) => {
        const path = join(root, name);
        return [...(tags.some((tag) => name.startsWith(tag)) ? [path] : []), ...groupsNamed(path, tags, depth - 1)];
      });
  } catch {
    return []; // removed in the meantime
  }
}
