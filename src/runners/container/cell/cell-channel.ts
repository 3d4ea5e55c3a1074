import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import { writeAll } from "../../../lib/write-all.ts";
import type { AttachedStream } from "../engine/attached-stream.ts";

/**
 * The kernel's channel by one of two ways: a socket that the cell connects to, or its standard input and output through
 * the engine where it cannot. The cell takes the first that works and speaks first; what we write waits until then. The
 * engine's stream stays open beside the socket: its end is the end of the cell, or of the engine.
 */
export class CellChannel extends Duplex {
  readonly #attached: AttachedStream;
  #carrier: Duplex | undefined;
  #waiting: ((carrier: Duplex) => void) | undefined;

  constructor(attached: AttachedStream, direct: Promise<Socket>) {
    super({ allowHalfOpen: true });
    this.#attached = attached;
    attached.on("data", (data: Buffer) => {
      if (!this.#carrier) this.#carry(attached);
      // Once the socket carries frames, nothing else is one: code in the cell may have found the engine's stream.
      if (this.#carrier === attached) this.#take(data);
    });
    attached.on("end", () => {
      if (this.#carrier === attached || !this.#carrier) this.push(null);
      else this.destroy();
    });
    attached.on("close", () => this.destroy());
    void direct.then((socket) => this.#connected(socket));
  }

  #connected(socket: Socket): void {
    if (this.#carrier || this.destroyed) {
      socket.destroy();
      return;
    }
    socket.on("data", (data: Buffer) => this.#take(data));
    socket.on("end", () => this.push(null));
    // The engine's stream is still open: it may yet bring the words of a cell that ended, and ends with the container.
    socket.on("close", () => this.push(null));
    socket.on("error", () => {});
    this.#carry(socket);
  }

  #carry(carrier: Duplex): void {
    this.#carrier = carrier;
    this.#waiting?.(carrier);
    this.#waiting = undefined;
  }

  #take(data: Buffer): void {
    if (!this.push(data)) this.#carrier?.pause();
  }

  override _read(): void {
    this.#carrier?.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: (error?: Error | null) => void): void {
    this.#with((carrier) => carrier.write(chunk, callback));
  }

  override _writev(
    chunks: { chunk: Buffer; encoding: BufferEncoding }[],
    callback: (error?: Error | null) => void,
  ): void {
    this.#with((carrier) => writeAll(carrier, chunks, callback));
  }

  override _final(callback: (error?: Error | null) => void): void {
    this.#with((carrier) => carrier.end(() => callback()));
  }

  /** One at a time: a stream writes its next piece after the last. */
  #with(work: (carrier: Duplex) => void): void {
    if (this.#carrier) work(this.#carrier);
    else this.#waiting = work;
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#carrier?.destroy();
    this.#attached.destroy();
    callback(error);
  }
}
