import { chunkBytes } from "./frames.ts";

/** Bytes that the receiver of a bulk transfer is ready to take; one flood cannot fill the other side's memory. */
export class Credit {
  #bytes = 0;
  #closed = false;
  #wake: (() => void) | undefined;

  grant(bytes: number): void {
    this.#bytes += bytes;
    this.#wake?.();
  }

  /** The transfer ended, well or not: whoever waits returns. */
  close(): void {
    this.#closed = true;
    this.#wake?.();
  }

  /** Sends `data` piece by piece as credit comes in. */
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
