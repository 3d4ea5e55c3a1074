import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import { writeAll } from "../../../lib/write-all.ts";

const headerBytes = 8;
const errorStream = 2;
const maxDiagnostics = 4000;

/**
 * The raw connection of an attach request. Writes go to the container's standard input. Each received piece has a header of
 * eight bytes that says whether it is output or log. The last part of the log is kept.
 */
export class AttachedStream extends Duplex {
  readonly #socket: Socket;
  #header = Buffer.alloc(0);
  #left = 0;
  #isLog = false;
  #log = "";

  constructor(socket: Socket, head: Buffer) {
    super({ allowHalfOpen: true });
    this.#socket = socket;
    socket.on("data", (data: Buffer) => {
      if (!this.#take(data)) socket.pause();
    });
    socket.on("end", () => this.push(null));
    socket.on("close", () => this.destroy());
    // The engine stopped or was killed. Readers see the end of the stream.
    socket.on("error", () => this.destroy());
    if (head.byteLength > 0) this.#take(head);
  }

  /** What the container printed to stderr. */
  get log(): string {
    return this.#log;
  }

  /** False if the reader's buffer is full. */
  #take(data: Buffer): boolean {
    let hasRoom = true;
    let at = 0;
    while (at < data.byteLength) {
      if (this.#left === 0) {
        const missing = headerBytes - this.#header.byteLength;
        this.#header = Buffer.concat([this.#header, data.subarray(at, at + missing)]);
        at += missing;
        if (this.#header.byteLength < headerBytes) break;
        this.#isLog = this.#header[0] === errorStream;
        this.#left = this.#header.readUInt32BE(4);
        this.#header = Buffer.alloc(0);
        continue;
      }
      const piece = data.subarray(at, at + this.#left);
      at += piece.byteLength;
      this.#left -= piece.byteLength;
      if (!this.#isLog) hasRoom = this.push(piece);
      else if (this.#log.length < maxDiagnostics) this.#log = (this.#log + piece.toString()).slice(0, maxDiagnostics);
    }
    return hasRoom;
  }

  override _read(): void {
    this.#socket.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: (error?: Error | null) => void): void {
    this.#socket.write(chunk, callback);
  }

  override _writev(
    chunks: { chunk: Buffer; encoding: BufferEncoding }[],
    callback: (error?: Error | null) => void,
  ): void {
    writeAll(this.#socket, chunks, callback);
  }

  override _final(callback: (error?: Error | null) => void): void {
    this.#socket.end(() => callback());
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#socket.destroy();
    callback(error);
  }
}
