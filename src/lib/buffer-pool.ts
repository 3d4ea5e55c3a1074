/**
 * Buffers that are read into again and again. Node makes a new one for each read, and at hundreds of megabytes a second
 * its collector takes more time than the bytes themselves.
 */
export class BufferPool {
  readonly #size: number;
  readonly #most: number;
  readonly #free: Buffer[] = [];

  /** Keeps up to `most` buffers of `size` bytes; more are made where they are needed, and left to the collector. */
  constructor(size: number, most: number) {
    this.#size = size;
    this.#most = most;
  }

  take(): Buffer {
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(this.#size);
  }

  /** Whoever gives a buffer back has no view of it left that somebody reads. */
  give(buffer: Buffer): void {
    if (this.#free.length < this.#most) this.#free.push(buffer);
  }
}
