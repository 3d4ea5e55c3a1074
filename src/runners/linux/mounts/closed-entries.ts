import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/**
 * A file and a directory that nobody without capabilities can open: they cover what a deny glob matches, so that reading it
 * fails with EACCES. An empty file would read as if the host's file were empty, and a program would report wrong facts.
 */
export interface ClosedEntries {
  readonly closedFile: string;
  readonly closedDirectory: string;
}

/** Creates both below a directory of codecell's own. Cells see them through read-only mounts, so none can change the modes. */
export function makeClosedEntries(below: string): ClosedEntries {
  const closed = { closedFile: join(below, "closed-file"), closedDirectory: join(below, "closed") };
  writeFileSync(closed.closedFile, "", { mode: 0 });
  mkdirSync(closed.closedDirectory);
  chmodSync(closed.closedDirectory, 0);
  return closed;
}
