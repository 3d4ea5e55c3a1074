import { CodecellError } from "../../lib/errors.ts";

const maxWaitingBytes = 1024 * 1024;

/** Standard input that arrives piece by piece, such as the lines that a person types. */
export class AppendedInput implements AsyncIterable<Uint8Array> {
  readonly #pieces: Uint8Array[] = [];
  readonly #maxBytes: number;
  #isEnded = false;
  #wake: (() => void) | undefined;

  constructor(maxBytes = maxWaitingBytes) {
    this.#maxBytes = maxBytes;
  }

  /** Bytes that the program has not read yet. */
  get waitingBytes(): number {
    return this.#pieces.reduce((sum, { byteLength }) => sum + byteLength, 0);
  }

  /** Adds a piece, and ends the input if it is the last. */
  add(piece: Uint8Array, isLast: boolean): void {
    if (this.#isEnded) throw new CodecellError("usage", "the standard input of this run has ended");
    if (piece.byteLength > 0 && this.waitingBytes + piece.byteLength > this.#maxBytes) {
      throw new CodecellError("session_busy", `the program has not read ${this.waitingBytes} bytes of its input yet`, {
        hint: "send more when it has read them",
      });
    }
    if (piece.byteLength > 0) this.#pieces.push(piece);
    this.#isEnded = isLast;
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    for (;;) {
      const piece = this.#pieces.shift();
      if (piece) yield piece;
      else if (this.#isEnded) return;
      else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    }
  }
}
