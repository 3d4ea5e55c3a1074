import { chunkBytes } from "./frames.ts";

/** Flow control of a bulk transfer: the sender waits for credit, so it cannot fill the receiver's memory. */
export class Credit {
  #bytes = 0;
  #closed = false;
  #wake: (() => void) | undefined;

  grant(bytes: number): void {
    this.#bytes += bytes;
    this.#wake?.();
  }

  /** Ends the transfer, whether it succeeded or failed. A sender that waits for credit returns. */
  close(): void {
    this.#closed = true;
    this.#wake?.();
  }

  /** Sends `data` piece by piece as credit arrives. */
  async spend(data: Uint8Array, send: (piece: Uint8Array) => void): Promise<void> {
    let at = 0;
    while (at < data.byteLength && !this.#closed) {
      if (this.#bytes === 0) {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
        continue;
      }
      const size = Math.min(this.#bytes, chunkBytes, data.byteLength - at);
      send(data.subarray(at, at + size));
      this.#bytes -= size;
      at += size;
    }
  }
}
