import { CodecellError } from "../../../lib/errors.ts";
import type { Logger } from "../../../lib/log/logger.ts";
import { formatSize } from "../../../policy/format-units.ts";
import type { Cell, CellDisk, DiskFinding } from "../../runner.ts";
import type { DeletedFiles } from "./deleted-files.ts";
import { directorySize, usedSpace } from "./directory-size.ts";
import { HiddenFiles } from "./hidden-files.ts";

const tickMs = 250;
/** The pause is this many times as long as the last measurement took, but at most `longestPauseMs`. */
const pauseShare = 20;
const longestPauseMs = { withTripwire: 5_000, without: 1_000 };
/** A workspace over its limit by less than this, or less than the limit itself, stays writable, so that code can delete files. */
const leastExcessBytes = 256 * 2 ** 20;
/** After a run, a directory that takes longer to measure is left to the timer: a result does not wait for it. */
const quickWalkMs = 100;
// Users of every surface read these, models too.
const remedy = "delete files in code";
const remedyOutside =
  "delete files from outside: session.removeFile, upload_file with delete=true over MCP, DELETE over HTTP, or `codecell artifacts rm` if the session is saved";

/** A cell that can be ended for a reason. */
export interface WatchedCell extends Pick<Cell, "id" | "exited"> {
  endFor(reason: CodecellError): Promise<void>;
}

/**
 * Watches the size of a cell's host directory. A bind mount has no size limit, so this measures the directory repeatedly.
 * Every 250 ms it also asks how much of the file system is used. That costs next to nothing however many files there are, so
 * many small files cannot delay the next measurement of a cell that writes much.
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
  readonly #hidden: HiddenFiles;
  #walkMs = 0;
  /** as it was last measured */
  #size = 0;
  /** when the last look ended, and how long it took */
  #looked = { atMs: 0, tookMs: 0 };
  #cell: WatchedCell | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** the cell has exited or is being ended, for the reason if the watch did it; `gone` settles when it has exited */
  #end: { readonly reason: CodecellError | undefined; readonly gone: Promise<void> } | undefined;

  private constructor(directory: string, limitBytes: number, logger: Logger, hidden: HiddenFiles) {
    this.#directory = directory;
    this.#hidden = hidden;
    this.#limitBytes = limitBytes;
    this.#toleratedBytes = limitBytes;
    this.#logger = logger;
  }

  /** Measures the directory before its cell starts. `countDeleted` counts the deleted files that the cell still holds open. */
  static async open(
    directory: string,
    limitBytes: number,
    logger: Logger,
    countDeleted?: () => Promise<DeletedFiles>,
  ): Promise<DiskWatch> {
    const hidden = new HiddenFiles(() => usedSpace(directory), countDeleted);
    const watch = new DiskWatch(directory, limitBytes, logger, hidden);
    await hidden.look();
    const size = await watch.#measure(watch.#writableBytes);
    hidden.begin(size);
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
      this.#end ??= { reason: undefined, gone: Promise.resolve() };
      clearTimeout(this.#timer);
    });
    this.#looked = { atMs: performance.now(), tookMs: this.#walkMs }; // it was measured before the cell started
    if (!this.#isReadOnly) this.#wait(); // nothing grows in a read-only directory
  }

  async leftBytes(): Promise<number> {
    return Math.max(0, this.#limitBytes - (await this.#measure(this.#limitBytes)));
  }

  async usedBytes(): Promise<number> {
    return this.#size;
  }

  get isWithinLimit(): boolean {
    return this.#end === undefined && !this.#isReadOnly && this.#toleratedBytes <= this.#limitBytes;
  }

  async afterRun(hasChanges: boolean): Promise<DiskFinding> {
    const wasOver = this.#isReadOnly || this.#toleratedBytes > this.#limitBytes;
    if (!this.#end && (hasChanges ? this.#walkMs <= quickWalkMs || wasOver : wasOver)) await this.#settle();
    await this.#end?.gone; // otherwise the next run would be sent to a cell that is about to exit
    const reason = this.#end?.reason;
    if (reason) return { isEnded: true, notes: [reason.message, ...(reason.hint ? [reason.hint] : [])] };
    if (this.#end || (!this.#isReadOnly && this.#toleratedBytes <= this.#limitBytes)) return nothing;
    const over = `the workspace holds more than proc.disk (${formatSize(this.#limitBytes)})`;
    return {
      isEnded: false,
      notes: [
        this.#isReadOnly
          ? `${over} by so much that it is read-only; ${remedyOutside}`
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
    const size = await this.#measureAll(this.#isReadOnly ? this.#limitBytes : this.#writableBytes);
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
    const began = performance.now();
    const size = await this.#measureAll(this.#toleratedBytes);
    if (this.#end) return;
    if (size > this.#toleratedBytes) return this.#endForSize();
    this.#toleratedBytes = Math.max(this.#limitBytes, size);
    const atMs = performance.now();
    this.#looked = { atMs, tookMs: atMs - began };
    this.#wait();
  }

  #wait(): void {
    this.#timer = setTimeout(() => void this.#tick(), tickMs);
    this.#timer.unref();
  }

  async #tick(): Promise<void> {
    const isTripped = await this.#hidden.hasGrown(this.#toleratedBytes);
    if (this.#end) return;
    const { atMs, tookMs } = this.#looked;
    const longestMs = longestPauseMs[this.#hidden.hasTripwire ? "withTripwire" : "without"];
    // Other programs use up space too: half of the time at most is spent on looking.
    const pauseMs = isTripped ? tookMs : Math.min(tookMs * pauseShare, longestMs);
    if (performance.now() - atMs >= pauseMs) await this.#look();
    else this.#wait();
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
    clearTimeout(this.#timer);
    const gone = Promise.resolve(this.#cell?.endFor(reason)).catch((error: unknown) => {
      this.#logger.warn("a cell was not ended cleanly", { cell: this.#cell?.id, error });
    });
    this.#end = { reason, gone };
    await gone;
  }

  /** The files in the directory, and those that have no name there any more. */
  async #measureAll(enoughBytes: number): Promise<number> {
    await this.#hidden.look();
    const named = await this.#measure(enoughBytes);
    return named > enoughBytes ? named : named + (await this.#hidden.bytes(named, enoughBytes));
  }

  async #measure(enoughBytes: number): Promise<number> {
    const began = performance.now();
    const size = await directorySize(this.#directory, enoughBytes);
    this.#walkMs = performance.now() - began;
    this.#size = size;
    return size;
  }
}

const nothing: DiskFinding = { isEnded: false, notes: [] };
