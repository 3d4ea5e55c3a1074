import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import { writeAll } from "../../../lib/write-all.ts";

const headerBytes = 8;
const errorStream = 2;
const maxDiagnostics = 4000;

/**
 * The connection that attaching turned into a raw one. What we write is the container's standard input; what comes back
 * carries a header of eight bytes per piece, which says whether it is output or the log. The log is kept, bounded.
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
    // An engine that stopped or was killed: the end of the stream says so to whoever reads it.
    socket.on("error", () => this.destroy());
    if (head.byteLength > 0) this.#take(head);
  }

  /** What the container printed about its own start. */
  get log(): string {
    return this.#log;
  }

  /** False when the reader has enough for now. */
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
