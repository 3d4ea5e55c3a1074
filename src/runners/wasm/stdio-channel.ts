import { Duplex, type Readable, type Writable } from "node:stream";
import { writeAll } from "../../lib/write-all.ts";

/** A child's standard input and output as one stream, with backpressure in both directions. */
export class StdioChannel extends Duplex {
  readonly #input: Writable;
  readonly #output: Readable;

  constructor(input: Writable, output: Readable) {
    super({ allowHalfOpen: true });
    this.#input = input;
    this.#output = output;
    output.on("data", (chunk: Buffer) => {
      if (!this.push(chunk)) output.pause();
    });
    output.on("end", () => this.push(null));
    output.on("error", (error) => this.destroy(error));
    // A cell that exits closes its input. The end of its output already reports that.
    input.on("error", () => {});
    output.pause();
  }

  override _read(): void {
    this.#output.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: (error?: Error | null) => void): void {
    this.#input.write(chunk, callback);
  }

  override _writev(
    chunks: { chunk: Buffer; encoding: BufferEncoding }[],
    callback: (error?: Error | null) => void,
  ): void {
    writeAll(this.#input, chunks, callback);
  }

  override _final(callback: (error?: Error | null) => void): void {
    this.#input.end(() => callback());
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#input.destroy();
    this.#output.destroy();
    callback(error);
  }
}
