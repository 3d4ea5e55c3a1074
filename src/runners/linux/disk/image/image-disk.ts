import { statfs } from "node:fs/promises";
import type { CellDisk, DiskFinding } from "../../../runner.ts";

const nothing: DiskFinding = { isEnded: false, notes: [] };

/** The limit of a workspace with a file system of its own: a write beyond it fails, and nobody has to watch. */
export function imageDisk(directory: string): CellDisk {
  return {
    leftBytes: async () => {
      const { bavail, bsize } = await statfs(directory);
      return bavail * bsize;
    },
    usedBytes: async () => {
      const { blocks, bfree, bsize } = await statfs(directory);
      return (blocks - bfree) * bsize;
    },
    isWithinLimit: true,
    afterRun: async () => nothing,
  };
}
