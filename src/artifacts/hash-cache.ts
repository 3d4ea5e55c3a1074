import { createHash } from "node:crypto";
import { CodecellError } from "../lib/errors.ts";
import { type BlockDigests, BlockHasher, blockBytesFor } from "./block-digests.ts";
import type { OpenFile } from "./regular-file.ts";

/** The result of reading a file once. */
export interface Digest {
  readonly sha256: string;
  /** the first bytes, for the type */
  readonly head: Uint8Array;
  /** only if requested */
  readonly blocks?: BlockDigests;
}

/** File systems count time in ticks of up to 10 ms: a second write in the same tick does not change the time. */
const settledMs = 50;
const bufferBytes = 1024 * 1024;

/**
 * Caches digests by device, inode, size and times, so that an untouched file is not read again. A program can write through a
 * memory map without changing any of these. A digest describes what was read at that time; to be sure of bytes, hash them.
 */
export class HashCache {
  readonly #digests = new Map<string, Digest>();
  readonly #maxEntries: number;
  readonly #now: () => number;

  /** `now`: wall-clock milliseconds, as the file system has them */
  constructor(maxEntries = 4096, now: () => number = Date.now) {
    this.#maxEntries = maxEntries;
    this.#now = now;
  }

  get(file: OpenFile): Digest | undefined {
    const digest = this.#digests.get(file.identity);
    if (digest === undefined) return undefined;
    this.#digests.delete(file.identity);
    this.#digests.set(file.identity, digest);
    return digest;
  }

  set(file: OpenFile, digest: Digest): void {
    if (this.#now() - Math.max(file.changedMs, file.modifiedMs) < settledMs) return;
    this.#digests.set(file.identity, digest);
    const [oldest] = this.#digests.keys();
    if (this.#digests.size > this.#maxEntries && oldest !== undefined) this.#digests.delete(oldest);
  }
}

/** Reads a file once, up to its size when it was opened. Undefined: it changed meanwhile. */
export async function digestFile(
  file: OpenFile,
  headBytes: number,
  signal?: AbortSignal,
  { withBlocks = false } = {},
): Promise<Digest | undefined> {
  const hash = createHash("sha256");
  const blocks = { blockBytes: blockBytesFor(file.size), digests: [] as Buffer[] };
  const hasher = withBlocks ? new BlockHasher(blocks.blockBytes, (digest) => blocks.digests.push(digest)) : undefined;
  const buffer = new Uint8Array(Math.min(bufferBytes, Math.max(file.size, 1)));
  let head = new Uint8Array();
  for (let position = 0; position < file.size; ) {
    if (signal?.aborted) throw cancelled(signal);
    const part = buffer.subarray(0, Math.min(buffer.length, file.size - position));
    const length = await file.readInto(part, position);
    if (length < part.length) return undefined;
    if (position === 0) head = part.slice(0, headBytes);
    hash.update(part);
    hasher?.update(part);
    position += length;
  }
  hasher?.end();
  if (!(await file.isUnchanged())) return undefined;
  return { sha256: hash.digest("hex"), head, ...(hasher ? { blocks } : {}) };
}

export function cancelled(signal: AbortSignal): CodecellError {
  return new CodecellError("aborted", "reading the files was cancelled", { cause: signal.reason });
}
