import { closeSync, ftruncateSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Writable } from "node:stream";

/** How much may wait in memory for a reader that is slower than the program. */
const maxWaitingBytes = 1024 * 1024;
const pieceBytes = 256 * 1024;

/**
 * Writes to a stream. What a slow reader has not taken yet waits in a file and not in memory. The program is not slowed down:
 * it would time out while somebody pages through its output.
 */
export class SpillingWriter {
  readonly #stream: Writable;
  readonly #directory: string;
  #file: number | undefined;
  /** where the part of the file that waits begins and ends */
  #from = 0;
  #to = 0;
  /** follows the file: the disk is full, so memory has to do */
  #rest: Uint8Array[] = [];

  constructor(stream: Writable, directory = tmpdir()) {
    this.#stream = stream;
    this.#directory = directory;
    stream.on("drain", () => this.#pump());
    stream.on("close", () => this.#drop());
  }

  write(data: string | Uint8Array): void {
    const isBehind = this.#stream.writableLength >= maxWaitingBytes;
    if (!this.#isWaiting && (!isBehind || this.#stream.destroyed)) this.#stream.write(data);
    else this.#spill(typeof data === "string" ? Buffer.from(data) : data);
  }

  get #isWaiting(): boolean {
    return this.#to > this.#from || this.#rest.length > 0;
  }

  #spill(bytes: Uint8Array): void {
    if (this.#stream.destroyed) return;
    let written = 0;
    try {
      if (this.#rest.length === 0) {
        this.#file ??= nameless(this.#directory);
        while (written < bytes.byteLength) {
          const count = writeSync(this.#file, bytes, written, bytes.byteLength - written, this.#to);
          written += count;
          this.#to += count;
        }
      }
    } catch {
      // A full disk, or no directory for temporary files: the output is worth more than the memory.
    }
    if (written < bytes.byteLength) this.#rest.push(bytes.subarray(written));
  }

  /** The stream has room again. */
  #pump(): void {
    while (this.#isWaiting && !this.#stream.destroyed) if (!this.#stream.write(this.#next())) return;
  }

  #next(): Uint8Array {
    if (this.#file === undefined || this.#from === this.#to) return this.#rest.shift() as Uint8Array;
    const piece = Buffer.allocUnsafe(Math.min(pieceBytes, this.#to - this.#from));
    const count = readSync(this.#file, piece, 0, piece.byteLength, this.#from);
    this.#from += count;
    if (this.#from === this.#to) {
      ftruncateSync(this.#file, 0);
      this.#from = 0;
      this.#to = 0;
    }
    return piece.subarray(0, count);
  }

  /** The reader is gone. */
  #drop(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
    this.#from = this.#to;
    this.#rest = [];
  }
}

/** A file without a name: nobody else opens it, and it is gone with this process. */
function nameless(parent: string): number {
  const directory = mkdtempSync(join(parent, "codecell-output-"));
  try {
    return openSync(join(directory, "output"), "wx+", 0o600);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
