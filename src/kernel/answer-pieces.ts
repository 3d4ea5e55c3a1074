/** So many small pieces become one. */
const joinedPieces = 1024;
const smallBytes = 4 * 1024;

/**
 * The pieces of a cell's answer. The attack: pieces of one byte, or of none, whose objects take a hundred times the memory that the
 * limit of the answer allows.
 */
export class AnswerPieces {
  #pieces: Uint8Array[] = [];
  /** those before it are joined already, or large */
  #recent = 0;
  #recentBytes = 0;

  add(piece: Uint8Array): void {
    if (piece.byteLength === 0) return;
    this.#pieces.push(piece);
    this.#recentBytes += piece.byteLength;
    if (this.#pieces.length - this.#recent < joinedPieces) return;
    if (this.#recentBytes < joinedPieces * smallBytes)
      this.#pieces.push(Buffer.concat(this.#pieces.splice(this.#recent)));
    this.#recent = this.#pieces.length;
    this.#recentBytes = 0;
  }

  get count(): number {
    return this.#pieces.length;
  }

  clear(): void {
    this.#pieces = [];
    this.#recent = 0;
    this.#recentBytes = 0;
  }

  joined(): Buffer {
    return Buffer.concat(this.#pieces);
  }
}
