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

  get isClosed(): boolean {
    return this.#closed;
  }

  /** Waits until there is credit, or until the transfer has ended. */
  async granted(): Promise<void> {
    while (this.#bytes === 0 && !this.#closed) await this.#change();
  }

  /** The value, or undefined if the transfer ends first. `Promise.race` would keep every value until then. */
  unlessClosed<Value>(work: Promise<Value>): Promise<Value | undefined> {
    return new Promise((resolve, reject) => {
      this.#wake = () => {
        if (this.#closed) resolve(undefined);
      };
      this.#wake();
      work.then(resolve, reject);
    });
  }

  /** Sends `data` piece by piece as credit arrives. */
  async spend(data: Uint8Array, send: (piece: Uint8Array) => void): Promise<void> {
    let at = 0;
    while (at < data.byteLength && !this.#closed) {
      if (this.#bytes === 0) {
        await this.#change();
        continue;
      }
      const size = Math.min(this.#bytes, chunkBytes, data.byteLength - at);
      send(data.subarray(at, at + size));
      this.#bytes -= size;
      at += size;
    }
  }

  #change(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}
