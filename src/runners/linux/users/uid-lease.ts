import { createHash } from "node:crypto";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { isHeld, takeLock } from "../../../lib/files/liveness-lock.ts";
import { makeDirectories } from "../../../lib/files/make-directories.ts";
import type { UidRange } from "./private-uid.ts";

const largestBlock = 4096;
const blocksInSmallRange = 32;
/** so many blocks in a row are in use only on a machine with as many codecell processes */
const mostAttempts = 64;
/** locks of killed processes are removed when there are more, because each check takes a tenth of a millisecond */
const manyLocks = 16;

/** A block of uids that no other codecell process on this machine hands out, as long as this process runs. */
export interface UidLease extends AsyncDisposable {
  /** belongs to nobody; root of the namespaces in which cells get their uids */
  readonly nobody: number;
  /** cells get their uids from this range */
  readonly cells: UidRange;
  /** A free uid for a cell: `wanted`, if it is one. Undefined if all are in use. */
  takeForCell(wanted?: number): number | undefined;
  /** A free uid for a process that starts cells. Undefined if all are in use. */
  takeForTemplate(): number | undefined;
  /** Called when no process has the uid any more. */
  giveBack(uid: number): void;
}

/**
 * Leases a block. The same `seed` gets the same block if it is free, so that a restarted service can give a saved session the uid
 * that owns its files. Undefined if every block that was tried is in use.
 */
export async function leaseUids(own: UidRange, directory: string, seed: string): Promise<UidLease | undefined> {
  const size = Math.min(largestBlock, Math.floor(own.count / blocksInSmallRange));
  const blocks = Math.floor(own.count / size);
  const first = createHash("sha256").update(seed).digest().readUInt32LE() % blocks;
  await makeDirectories(directory, 0o700);
  await removeDeadLocks(directory);
  for (let attempt = 0; attempt < Math.min(blocks, mostAttempts); attempt++) {
    const block = (first + attempt) % blocks;
    const lock = await takeLock(join(directory, String(block)));
    if (lock) return new LockedBlock({ first: own.first + block * size, count: size }, lock);
  }
  return undefined;
}

async function removeDeadLocks(directory: string): Promise<void> {
  const names = (await readdir(directory)).filter((name) => /^\d+$/.test(name));
  if (names.length <= manyLocks) return;
  for (const path of names.map((name) => join(directory, name))) {
    if (!(await isHeld(path))) await (await takeLock(path))?.[Symbol.asyncDispose]();
  }
}

class LockedBlock implements UidLease {
  readonly nobody: number;
  readonly cells: UidRange;
  readonly #templates: UidRange;
  readonly #lock: AsyncDisposable;
  readonly #taken = new Set<number>();
  /** starts anywhere: a uid that a dead cell had is not the first to be used again */
  #turn = Math.floor(Math.random() * largestBlock);

  constructor({ first, count }: UidRange, lock: AsyncDisposable) {
    const quarter = Math.floor(count / 4);
    this.nobody = first;
    this.#templates = { first: first + 1, count: quarter - 1 };
    this.cells = { first: first + quarter, count: count - quarter };
    this.#lock = lock;
  }

  takeForCell(wanted?: number): number | undefined {
    const { first, count } = this.cells;
    const isFree = wanted !== undefined && wanted >= first && wanted < first + count && !this.#taken.has(wanted);
    if (!isFree) return this.#next(this.cells);
    this.#taken.add(wanted);
    return wanted;
  }

  takeForTemplate(): number | undefined {
    return this.#next(this.#templates);
  }

  giveBack(uid: number): void {
    this.#taken.delete(uid);
  }

  [Symbol.asyncDispose](): PromiseLike<void> {
    return this.#lock[Symbol.asyncDispose]();
  }

  #next({ first, count }: UidRange): number | undefined {
    for (let attempt = 0; attempt < count; attempt++) {
      const uid = first + (this.#turn++ % count);
      if (this.#taken.has(uid)) continue;
      this.#taken.add(uid);
      return uid;
    }
    return undefined;
  }
}
