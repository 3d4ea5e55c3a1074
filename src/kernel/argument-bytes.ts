const firstCapacityBytes = 4 * 1024;

/**
 * The arguments of one call, as they arrive. The attack: pieces of one byte, each of which would keep an object, and the frame that it
 * is a view of, until the call is complete. So pieces are copied into one buffer, which at most doubles.
 */
export class ArgumentBytes {
  readonly #size: number;
  #buffer = Buffer.alloc(0);
  #received = 0;

  /** `size`: how many bytes the cell announced. They take memory only once they arrive. */
  constructor(size: number) {
    this.#size = size;
  }

  get received(): number {
    return this.#received;
  }

  /** Memory that the bytes received so far take. */
  get capacity(): number {
    return this.#buffer.byteLength;
  }

  add(piece: Uint8Array): void {
    const end = this.#received + piece.byteLength;
    if (end > this.#buffer.byteLength) this.#grow(end);
    this.#buffer.set(piece, this.#received);
    this.#received = end;
  }

  bytes(): Buffer {
    return this.#buffer.subarray(0, this.#received);
  }

  #grow(needed: number): void {
    const capacity = Math.min(this.#size, Math.max(needed, 2 * this.#buffer.byteLength, firstCapacityBytes));
    const larger = Buffer.allocUnsafeSlow(capacity); // not from the shared pool: a call may be open for long
    larger.set(this.#buffer.subarray(0, this.#received));
    this.#buffer = larger;
  }
}
