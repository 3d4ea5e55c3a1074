import { lstat, opendir } from "node:fs/promises";
import { join } from "node:path";
import type { Logger } from "../../lib/logger.ts";
import type { Cell } from "../runner.ts";

const shortestPauseMs = 250;
const walkShare = 20;

/**
 * Ends a cell whose host directory grows past the limit. A bind mount has no size of its own, so this is a watch: it
 * looks again after at least twenty times as long as the last look took.
 */
export function watchDisk(cell: Cell, directory: string, limitBytes: number, logger: Logger): void {
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  const look = async () => {
    const began = performance.now();
    const size = await directorySize(directory, limitBytes);
    if (isOver) return;
    if (size > limitBytes) {
      logger.warn("a cell was ended: its directory is over proc.disk", { cell: cell.id, limitBytes });
      await cell[Symbol.asyncDispose]();
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
    const entries = await opendir(path).catch(() => undefined);
    if (!entries) continue; // gone meanwhile, or not ours to read
    for await (const entry of entries) {
      const full = join(path, entry.name);
      if (entry.isDirectory()) waiting.push(full);
      else
        total += await lstat(full).then(
          (stats) => stats.blocks * 512,
          () => 0,
        );
    }
  }
  return total;
}
