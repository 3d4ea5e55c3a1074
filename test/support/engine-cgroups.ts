import { readdirSync, readFileSync, rmdirSync } from "node:fs";
import { join } from "node:path";

/** Where groups may be: each v1 controller's mount, and v2's. */
function roots(): string[] {
  const lines = readFileSync("/proc/self/mountinfo", "utf8").split("\n");
  return lines.filter((line) => / - cgroup2? /.test(line)).map((line) => line.split(" ")[4] ?? "");
}

/** Groups of this name, in every hierarchy. */
export function cgroupsNamed(name: string): string[] {
  return roots().flatMap((root) => (childrenOf(root).includes(name) ? [join(root, name)] : []));
}

/** Removes what an engine left of its parent group. One with a process in it stays: the kernel refuses. */
export function removeEmptyCgroups(name: string): void {
  for (const path of cgroupsNamed(name)) removeTree(path);
}

function removeTree(path: string): void {
  for (const child of childrenOf(path)) removeTree(join(path, child));
  try {
    rmdirSync(path);
  } catch {
    // in use, or gone already
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
