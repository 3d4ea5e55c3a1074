import { lstat, opendir } from "node:fs/promises";
import { join } from "node:path";
import { CodecellError } from "../../lib/errors.ts";
import type { Logger } from "../../lib/log/logger.ts";
import { formatSize } from "../../policy/units.ts";
import type { Cell } from "../runner.ts";

const shortestPauseMs = 250;
const walkShare = 20;
/** What the smallest entry takes: an empty file has no blocks, and yet a disk is full when it has no inode left. */
const leastBytes = 512;

/** A cell that can be ended for a reason. */
export interface WatchedCell extends Pick<Cell, "id" | "exited"> {
  endFor(reason: CodecellError): Promise<void>;
}

/**
 * Ends a cell whose host directory grows past the limit. A bind mount has no size of its own, so this is a watch: it
 * looks again after at least twenty times as long as the last look took.
 */
export function watchDisk(cell: WatchedCell, directory: string, limitBytes: number, logger: Logger): void {
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  const look = async () => {
    const began = performance.now();
    const size = await directorySize(directory, limitBytes);
    if (isOver) return;
    if (size > limitBytes) {
      logger.warn("a cell was ended: its directory is over proc.disk", { cell: cell.id, limitBytes });
      const message = `its files take more than proc.disk allows, ${formatSize(limitBytes)}`;
      await cell.endFor(new CodecellError("cell_lost", message, { details: { rule: "proc.disk" } }));
      return;
    }
    timer = setTimeout(look, Math.max(shortestPauseMs, (performance.now() - began) * walkShare));
    timer.unref();
  };
  void look();
  void cell.exited.then(() => {
    isOver = true;
    clearTimeout(timer);
  });
}

/** Allocated bytes below a directory; stops counting once past the limit. Links are not followed. */
async function directorySize(root: string, limitBytes: number): Promise<number> {
  let total = 0;
  const waiting = [root];
  for (let path = waiting.pop(); path !== undefined && total <= limitBytes; path = waiting.pop()) {
    try {
      for await (const entry of await opendir(path)) {
        const full = join(path, entry.name);
        if (entry.isDirectory()) waiting.push(full);
        total += await lstat(full).then(({ blocks }) => Math.max(leastBytes, blocks * 512), unseenBytes);
        if (total > limitBytes) break;
      }
    } catch (error) {
      total += unseenBytes(error);
    }
  }
  return total;
}

/** Gone meanwhile, or not ours to read; but programs get step by step to where we cannot, and write out of our sight. */
function unseenBytes(error: unknown): number {
  const isTooDeep = error instanceof Error && "code" in error && error.code === "ENAMETOOLONG";
  return isTooDeep ? Number.POSITIVE_INFINITY : 0;
}
