import { readdirSync, readFileSync, rmdirSync } from "node:fs";
import { join } from "node:path";

/** The mounts of all v1 controllers and of v2. */
function roots(): string[] {
  const lines = readFileSync("/proc/self/mountinfo", "utf8").split("\n");
  return lines.filter((line) => / - cgroup2? /.test(line)).map((line) => line.split(" ")[4] ?? "");
}

/** Groups with this name in every hierarchy. */
export function cgroupsNamed(name: string): string[] {
  return roots().flatMap((root) => (childrenOf(root).includes(name) ? [join(root, name)] : []));
}

/** Removes an engine's parent group. The OS refuses to remove a group that still has a process. */
export function removeEmptyCgroups(name: string): void {
  for (const path of cgroupsNamed(name)) removeTree(path);
}

function removeTree(path: string): void {
  for (const child of childrenOf(path)) removeTree(join(path, child));
  try {
    rmdirSync(path);
  } catch {
    // in use or already removed
  }
}

function childrenOf(path: string): string[] {
  try {
    const entries = readdirSync(path, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  } catch {
    return [];
  }
}
