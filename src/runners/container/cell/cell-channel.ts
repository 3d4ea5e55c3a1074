import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import { writeAll } from "../../../lib/write-all.ts";
import type { AttachedStream } from "../engine/attached-stream.ts";

/** How long an engine may take to pass on what a cell printed before it exited. */
const lastWordsMs = 1_000;

/**
 * The kernel's channel. It uses a socket that the cell connects to or, if the cell cannot, the container's standard streams
 * through the engine. The cell chooses the first that works and sends the first message; writes wait until then. The
 * engine's stream stays open beside the socket, because its end means that the cell or the engine has exited.
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
      // After the socket is chosen, ignore the engine's stream: code in the cell could write forged frames to it.
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
    // Keep the engine's stream open: it may still deliver the log of a cell that has exited.
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

  /** One slot is enough, because a stream starts a write only after the last one has finished. */
  #with(work: (carrier: Duplex) => void): void {
    if (this.#carrier) work(this.#carrier);
    else this.#waiting = work;
  }

  /** Beside a socket, the engine's stream may still have to deliver why the cell exited. It ends by itself, or soon. */
  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    const attached = this.#attached;
    this.#carrier?.destroy();
    if (this.#carrier === undefined || this.#carrier === attached) attached.destroy();
    else {
      const close = () => attached.destroy();
      const late = setTimeout(close, lastWordsMs);
      attached.once("end", close).once("close", () => clearTimeout(late));
      if (attached.readableEnded) close();
    }
    callback(error);
  }
}
