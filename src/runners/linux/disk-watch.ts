import { lstat, opendir } from "node:fs/promises";
import { join } from "node:path";
import { CodecellError } from "../../lib/errors.ts";
import type { Logger } from "../../lib/log/logger.ts";
import { formatSize } from "../../policy/format-units.ts";
import type { Cell, CellDisk, DiskFinding } from "../runner.ts";

const shortestPauseMs = 250;
const walkShare = 20;
/** Size that is counted for an empty file. It has no blocks, but millions of them use up the disk's inodes. */
const leastBytes = 512;
/** A workspace over its limit by less than this, or less than the limit itself, stays writable, so that code can delete files. */
const leastExcessBytes = 256 * 2 ** 20;
/** After a run, a directory that takes longer to measure is left to the timer: a result does not wait for it. */
const quickWalkMs = 100;
const remedy = "delete files: in code, or with `codecell artifacts rm`";

/** A cell that can be ended for a reason. */
export interface WatchedCell extends Pick<Cell, "id" | "exited"> {
  endFor(reason: CodecellError): Promise<void>;
}

/**
 * Watches the size of a cell's host directory. A bind mount has no size limit, so this measures the directory repeatedly.
 * The pause is at least 20 times as long as the last measurement took.
 *
 * A directory that is over the limit before the cell starts is tolerated at its size: only growth ends the cell. Otherwise
 * nobody could start the session to delete files. Far over the limit the cell gets it read-only. That stops an attack:
 * each run writes as much as it can until it is noticed, and each next cell tolerates what the last one wrote.
 */
export class DiskWatch implements CellDisk {
  readonly #directory: string;
  readonly #limitBytes: number;
  readonly #logger: Logger;
  /** at what size the cell is ended: the limit, or what the directory holds beyond it */
  #toleratedBytes: number;
  #isReadOnly = false;
  #walkMs = 0;
  #cell: WatchedCell | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** the cell has exited or is being ended, for the reason if the watch did it */
  #end: { readonly reason: CodecellError | undefined } | undefined;

  private constructor(directory: string, limitBytes: number, logger: Logger) {
    this.#directory = directory;
    this.#limitBytes = limitBytes;
    this.#toleratedBytes = limitBytes;
    this.#logger = logger;
  }

  /** Measures the directory before its cell starts. */
  static async open(directory: string, limitBytes: number, logger: Logger): Promise<DiskWatch> {
    const watch = new DiskWatch(directory, limitBytes, logger);
    const size = await watch.#measure(watch.#writableBytes);
    watch.#toleratedBytes = Math.max(limitBytes, size);
    watch.#isReadOnly = size > watch.#writableBytes;
    return watch;
  }

  /** Whether the directory is so far over the limit that the cell must not write to it. */
  get isReadOnly(): boolean {
    return this.#isReadOnly;
  }

  /** Starts to watch for this cell. */
  watch(cell: WatchedCell): void {
    this.#cell = cell;
    void cell.exited.then(() => {
      this.#end ??= { reason: undefined };
      clearTimeout(this.#timer);
    });
    if (!this.#isReadOnly) void this.#look(); // nothing grows in a read-only directory
  }

  async leftBytes(): Promise<number> {
    return Math.max(0, this.#limitBytes - (await this.#measure(this.#limitBytes)));
  }

  async afterRun(hasChanges: boolean): Promise<DiskFinding> {
    const wasOver = this.#isReadOnly || this.#toleratedBytes > this.#limitBytes;
    if (!this.#end && (hasChanges ? this.#walkMs <= quickWalkMs || wasOver : wasOver)) await this.#settle();
    const reason = this.#end?.reason;
    if (reason) return { isEnded: true, notes: [reason.message, ...(reason.hint ? [reason.hint] : [])] };
    if (this.#end || (!this.#isReadOnly && this.#toleratedBytes <= this.#limitBytes)) return nothing;
    const over = `the workspace holds more than proc.disk (${formatSize(this.#limitBytes)})`;
    return {
      isEnded: false,
      notes: [
        this.#isReadOnly
          ? `${over} by so much that it is read-only; delete files with \`codecell artifacts rm\`, or over MCP or HTTP`
          : `${over}; ${remedy}. A run that writes more is ended, and its variables are lost`,
      ],
    };
  }

  /** Up to this size a cell gets its directory writable. */
  get #writableBytes(): number {
    return this.#limitBytes + Math.max(this.#limitBytes, leastExcessBytes);
  }

  /** No code runs now: what the run wrote beyond the limit stays, once, and is the most that is tolerated from here on. */
  async #settle(): Promise<void> {
    const size = await this.#measure(this.#isReadOnly ? this.#limitBytes : this.#writableBytes);
    if (this.#end) return;
    if (this.#isReadOnly) {
      if (size <= this.#limitBytes)
        await this.#endCell("its files fit proc.disk again: the next run starts in a cell that can write");
      return;
    }
    const isFirst = this.#toleratedBytes <= this.#limitBytes && size <= this.#writableBytes;
    if (size > this.#toleratedBytes && !isFirst) await this.#endForSize();
    else this.#toleratedBytes = Math.max(this.#limitBytes, size);
  }

  async #look(): Promise<void> {
    const size = await this.#measure(this.#toleratedBytes);
    if (this.#end) return;
    if (size > this.#toleratedBytes) return this.#endForSize();
    this.#toleratedBytes = Math.max(this.#limitBytes, size);
    this.#timer = setTimeout(() => void this.#look(), Math.max(shortestPauseMs, this.#walkMs * walkShare));
    this.#timer.unref();
  }

  #endForSize(): Promise<void> {
    this.#logger.warn("ended a cell because its files exceed proc.disk", {
      cell: this.#cell?.id,
      limitBytes: this.#limitBytes,
    });
    return this.#endCell(`its files exceed proc.disk (${formatSize(this.#limitBytes)})`, remedy);
  }

  async #endCell(message: string, hint?: string): Promise<void> {
    const reason = new CodecellError("cell_lost", message, {
      ...(hint === undefined ? {} : { hint }),
      details: { rule: "proc.disk" },
    });
    this.#end = { reason };
    clearTimeout(this.#timer);
    await this.#cell?.endFor(reason);
  }

  async #measure(enoughBytes: number): Promise<number> {
    const began = performance.now();
    const size = await directorySize(this.#directory, enoughBytes);
    this.#walkMs = performance.now() - began;
    return size;
  }
}

const nothing: DiskFinding = { isEnded: false, notes: [] };

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
