import { createHash } from "node:crypto";

/** The digests of a file's blocks, in their order, so that a part of the file can be verified without reading all of it. */
export interface BlockDigests {
  readonly blockBytes: number;
  readonly digests: readonly Buffer[];
}

const leastBlockBytes = 256 * 1024;
/** The digests of a file are kept in memory, so a large file has large blocks. */
const mostBlocks = 256;

export function blockBytesFor(size: number): number {
  return Math.max(leastBlockBytes, Math.ceil(size / mostBlocks));
}

/** Hashes bytes that come in parts of any size, block by block. */
export class BlockHasher {
  readonly #blockBytes: number;
  readonly #onBlock: (digest: Buffer) => void;
  #hash = createHash("sha256");
  #filled = 0;

  constructor(blockBytes: number, onBlock: (digest: Buffer) => void) {
    this.#blockBytes = blockBytes;
    this.#onBlock = onBlock;
  }

  update(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.byteLength; ) {
      const part = bytes.subarray(at, at + this.#blockBytes - this.#filled);
      this.#hash.update(part);
      this.#filled += part.byteLength;
      at += part.byteLength;
      if (this.#filled === this.#blockBytes) this.end();
    }
  }

  /** Ends the last block, which may be shorter. */
  end(): void {
    if (this.#filled === 0) return;
    this.#onBlock(this.#hash.digest());
    this.#hash = createHash("sha256");
    this.#filled = 0;
  }
}
