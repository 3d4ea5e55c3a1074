import { lstat, opendir } from "node:fs/promises";
import { join } from "node:path";
import { CodecellError } from "../../lib/errors.ts";
import type { Logger } from "../../lib/log/logger.ts";
import { formatSize } from "../../policy/units.ts";
import type { Cell } from "../runner.ts";

const shortestPauseMs = 250;
const walkShare = 20;
/** Size that is counted for an empty file. It has no blocks, but millions of them use up the disk's inodes. */
const leastBytes = 512;

/** A cell that can be ended for a reason. */
export interface WatchedCell extends Pick<Cell, "id" | "exited"> {
  endFor(reason: CodecellError): Promise<void>;
}

/**
 * Ends a cell whose host directory exceeds the limit. A bind mount has no size limit, so this measures the directory
 * repeatedly. The pause is at least 20 times as long as the last measurement took.
 */
export function watchDisk(cell: WatchedCell, directory: string, limitBytes: number, logger: Logger): void {
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  const measure = async () => {
    const began = performance.now();
    const size = await directorySize(directory, limitBytes);
    if (isOver) return;
    if (size > limitBytes) {
      logger.warn("ended a cell because its files exceed proc.disk", { cell: cell.id, limitBytes });
      const message = `its files exceed proc.disk (${formatSize(limitBytes)})`;
      await cell.endFor(new CodecellError("cell_lost", message, { details: { rule: "proc.disk" } }));
      return;
    }
    timer = setTimeout(measure, Math.max(shortestPauseMs, (performance.now() - began) * walkShare));
    timer.unref();
  };
  void measure();
  void cell.exited.then(() => {
    isOver = true;
    clearTimeout(timer);
  });
}

/** Allocated bytes in a directory tree. Stops counting at the limit. Symlinks are not followed. */
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

/**
 * The size of an entry that cannot be read. It counts as nothing, unless its path is too long: a program can reach it
 * directory by directory and hide files there, so this counts as over the limit.
 */
function unseenBytes(error: unknown): number {
  const isTooDeep = error instanceof Error && "code" in error && error.code === "ENAMETOOLONG";
  return isTooDeep ? Number.POSITIVE_INFINITY : 0;
}
