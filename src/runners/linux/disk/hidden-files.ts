import type { DeletedFiles } from "./deleted-files.ts";
import type { UsedSpace } from "./directory-size.ts";

/** Counting takes a process. After it found nothing, the next one waits this many times as long as it took. */
const restShare = 10;
/**
 * But not longer than this, or than the count itself took. The attack: load makes one count slow, and the long rest after it is time to
 * hide files.
 */
const longestRestMs = 2_000;
/** Space that was freed is weaker evidence: every program that deletes its own files frees some. The next count waits longer. */
const freedRestShare = 100;
/** Without evidence, files are counted this long after the last count, if anybody wrote or freed anything meanwhile. */
const longestUncountedMs = 60_000;
/** A directory is measured early if the file system's used space grows by this part of what is left of the limit. */
const roomPart = 8;
const leastGrowthBytes = 64 * 1024;
/**
 * So many counts in a row may see only a part before the rest is taken for the cell's. One alone proves nothing: a process of another
 * cell was just exiting, or the host had no descriptor left for the count, while other programs wrote to the same file system.
 */
const mostBlindCounts = 3;

/** What was accounted for when the used space of the file system was this. */
interface Account {
  readonly usedBytes: number;
  readonly namedBytes: number;
  readonly deletedBytes: number;
}

/**
 * Finds the space that a cell uses outside the tree of its directory: files that were deleted while open, and files that
 * never had a name (O_TMPFILE). They are counted only if the file system's used space grew by more than the directory
 * explains, because other programs write to the same file system and a count is expensive.
 *
 * The attack: a second session deletes as much as this cell hides, so that the used space stays the same. So space that was
 * seen to be freed may cover as much of the cell's. Both within one look leave less to see: then the next regular count finds it.
 */
export class HiddenFiles {
  readonly #measureUsed: () => Promise<UsedSpace>;
  readonly #count: (() => Promise<DeletedFiles>) | undefined;
  readonly #now: () => number;
  #used: UsedSpace = { bytes: 0, isPrompt: false };
  #sampled: UsedSpace = this.#used;
  #account: Account = { usedBytes: 0, namedBytes: 0, deletedBytes: 0 };
  /** size of everything when it was last measured */
  #lastBytes = 0;
  /** true if files may be hidden that were not counted yet */
  #isSuspect = false;
  #restsUntilMs = 0;
  #blindCounts = 0;
  /** what was freed and written since the last count, by anybody, as far as it was seen */
  #freedBytes = 0;
  #movedBytes = 0;
  #freedRestsUntilMs = 0;
  /** what was written since the last look, by anybody, whatever was freed */
  #writtenBytes = 0;
  #countedMs: number;

  constructor(
    used: () => Promise<UsedSpace>,
    count: (() => Promise<DeletedFiles>) | undefined,
    now = () => performance.now(),
  ) {
    this.#measureUsed = used;
    this.#count = count;
    this.#now = now;
    this.#countedMs = now();
  }

  /** Whether the used space of this file system tells at once that something was written. */
  get hasTripwire(): boolean {
    return this.#used.isPrompt;
  }

  /** Notes the used space. Call it before the directory is measured, so that what is written meanwhile is noticed next time. */
  async look(): Promise<void> {
    this.#used = await this.#sample();
    this.#writtenBytes = 0;
  }

  /** Starts with a directory of this size, and nothing hidden. */
  begin(namedBytes: number): void {
    this.#freedBytes = this.#movedBytes = 0;
    this.#account = { usedBytes: this.#used.bytes, namedBytes, deletedBytes: 0 };
    this.#lastBytes = namedBytes;
  }

  /** Whether so much was written since the last look, by anybody, that the directory should be measured now. */
  async hasGrown(limitBytes: number): Promise<boolean> {
    if (this.#isSuspect) return this.#now() >= this.#restsUntilMs;
    await this.#sample();
    return this.#writtenBytes > Math.max(leastGrowthBytes, (limitBytes - this.#lastBytes) / roomPart);
  }

  /** The hidden bytes of a cell whose directory has this size; exact only if both together could exceed the limit. */
  async bytes(namedBytes: number, limitBytes: number): Promise<number> {
    const hidden = await this.#hiddenBytes(namedBytes, limitBytes);
    this.#lastBytes = namedBytes + hidden;
    return hidden;
  }

  async #hiddenBytes(namedBytes: number, limitBytes: number): Promise<number> {
    if (this.#count === undefined) return 0;
    const usedBytes = this.#used.bytes;
    const { deletedBytes } = this.#account;
    const unexplained = usedBytes - this.#account.usedBytes - (namedBytes - this.#account.namedBytes);
    // Somebody freed space. From here on only growth counts, or it would hide as much of the cell's.
    if (unexplained < 0) this.#account = { usedBytes, namedBytes, deletedBytes };
    const grown = deletedBytes + Math.max(0, unexplained);
    const most = grown + this.#freedBytes;
    const isGrown = namedBytes + grown > limitBytes;
    const isCovered = namedBytes + most > limitBytes && this.#now() >= this.#freedRestsUntilMs;
    const isDue = this.#movedBytes >= leastGrowthBytes && this.#now() - this.#countedMs >= longestUncountedMs;
    this.#isSuspect = isGrown || isCovered || isDue;
    if (!this.#isSuspect) return deletedBytes;
    // The files of the last count may be gone by now: without a new one they do not end a cell.
    const harmless = (bytes: number) => Math.max(0, Math.min(bytes, limitBytes - namedBytes));
    if (this.#now() < this.#restsUntilMs) return harmless(deletedBytes);
    const began = this.#now();
    const found = await this.#count().catch(() => ({ bytes: 0, coverage: "partial" as const }));
    if (found.coverage !== "complete") {
      // Fails closed: what is parked, or cannot be seen again and again, is taken for all that is missing.
      if (found.coverage === "parked" || ++this.#blindCounts >= mostBlindCounts) return Math.max(found.bytes, most);
      return found.bytes > limitBytes - namedBytes ? found.bytes : harmless(most);
    }
    this.#blindCounts = 0;
    this.#countedMs = this.#now();
    const tookMs = this.#countedMs - began;
    if (isGrown) this.#restsUntilMs = this.#countedMs + Math.max(tookMs, Math.min(tookMs * restShare, longestRestMs));
    this.#freedRestsUntilMs = this.#countedMs + tookMs * freedRestShare;
    this.#freedBytes = this.#movedBytes = 0;
    this.#isSuspect = false;
    this.#account = { usedBytes, namedBytes, deletedBytes: found.bytes };
    return found.bytes;
  }

  /** Asks for the used space, and remembers what changed since the last time. */
  async #sample(): Promise<UsedSpace> {
    const used = await this.#measureUsed().catch(() => this.#sampled);
    const change = used.bytes - this.#sampled.bytes;
    this.#sampled = used;
    this.#writtenBytes += Math.max(0, change);
    this.#freedBytes += Math.max(0, -change);
    this.#movedBytes += Math.abs(change);
    return used;
  }
}
