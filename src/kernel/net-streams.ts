import { Duplex } from "node:stream";
import { CodecellError } from "../lib/errors.ts";
import type { HostMessage, NetMessage } from "./messages.ts";

/** How much of one stream may be on its way; the kernel in the cell knows the same number. */
export const windowBytes = 256 * 1024;
const pieceBytes = 64 * 1024;
/** Bytes that wait for the channel before streams do: what controls runs waits behind them. */
const congestedBytes = 256 * 1024;
const maxStreams = 64;

type Send = (message: HostMessage, body?: Uint8Array) => void;

/** Connections of a cell's programs to their proxy, as streams on the cell's channel. */
export class NetStreams {
  readonly #channel: Duplex;
  readonly #send: Send;
  readonly #onStream: (stream: Duplex) => void;
  readonly #streams = new Map<number, NetStream>();
  /** streams that have bytes and credit, in turn */
  readonly #ready = new Set<NetStream>();
  #latest = 0;

  constructor(channel: Duplex, send: Send, onStream: (stream: Duplex) => void) {
    this.#channel = channel;
    this.#send = send;
    this.#onStream = onStream;
    channel.on("drain", () => this.#pump());
  }

  /** Takes what the cell said. Untrusted: a broken promise ends the cell. */
  receive(message: NetMessage, body: Uint8Array): void {
    if (message.t === "net.open") {
      this.#open(message.id);
      return;
    }
    const stream = this.#streams.get(message.id);
    if (!stream) return; // it ended while the message was on its way
    switch (message.t) {
      case "net.data":
        stream.receive(body);
        return;
      case "net.end":
        stream.receiveEnd();
        return;
      case "net.close":
        stream.receiveClose();
        return;
      case "net.credit":
        stream.receiveCredit(message.bytes);
        return;
    }
  }

  /** The cell is gone. */
  close(): void {
    for (const stream of [...this.#streams.values()]) stream.receiveClose();
  }

  #open(id: number): void {
    if (id <= this.#latest) throw new CodecellError("cell_lost", "the cell opened a connection twice");
    this.#latest = id;
    if (this.#streams.size >= maxStreams) {
      this.#send({ t: "net.close", id });
      return;
    }
    const stream = new NetStream(id, this.#send, {
      ready: () => {
        this.#ready.add(stream);
        this.#pump();
      },
      gone: () => {
        this.#streams.delete(id);
        this.#ready.delete(stream);
      },
    });
    stream.on("error", () => {});
    this.#streams.set(id, stream);
    this.#onStream(stream);
  }

  /** One piece of each in turn, so that no stream holds the others up, and none while the channel is full. */
  #pump(): void {
    while (this.#channel.writableLength < congestedBytes) {
      const [stream] = this.#ready;
      if (!stream) return;
      this.#ready.delete(stream);
      if (stream.sendPiece()) this.#ready.add(stream);
    }
  }
}

class NetStream extends Duplex {
  readonly #id: number;
  readonly #send: Send;
  readonly #on: { ready: () => void; gone: () => void };
  #credit = windowBytes;
  #waiting: Buffer | undefined;
  #taken: ((error?: Error | null) => void) | undefined;
  /** received, and the cell does not have the credit for it back yet */
  #owed = 0;
  #mayReturn = true;
  #hasSentEnd = false;
  #hasReceivedEnd = false;
  #isClosedByCell = false;

  constructor(id: number, send: Send, on: { ready: () => void; gone: () => void }) {
    super({ allowHalfOpen: true, readableHighWaterMark: windowBytes, writableHighWaterMark: pieceBytes });
    this.#id = id;
    this.#send = send;
    this.#on = on;
  }

  receive(body: Uint8Array): void {
    this.#owed += body.byteLength;
    // The cell promised to stay within its credit; it is not believed.
    if (this.#owed > windowBytes || this.#hasReceivedEnd) {
      throw new CodecellError("cell_lost", "the cell sent more on a connection than it may");
    }
    this.#mayReturn = this.push(Buffer.from(body.buffer, body.byteOffset, body.byteLength));
    this.#returnCredit();
  }

  receiveEnd(): void {
    if (this.#hasReceivedEnd) return;
    this.#hasReceivedEnd = true;
    this.push(null);
  }

  receiveClose(): void {
    this.#isClosedByCell = true;
    this.destroy();
  }

  receiveCredit(bytes: number): void {
    this.#credit += bytes;
    if (this.#credit > windowBytes) throw new CodecellError("cell_lost", "the cell returned credit that it never had");
    if (this.#waiting) this.#on.ready();
  }

  /** Sends what one turn allows; whether there is more to send now. */
  sendPiece(): boolean {
    const { length = 0 } = this.#waiting ?? {};
    const size = Math.min(length, pieceBytes, this.#credit);
    if (!this.#waiting || size === 0 || this.destroyed) return false;
    this.#credit -= size;
    this.#send({ t: "net.data", id: this.#id }, this.#waiting.subarray(0, size));
    if (size < length) {
      this.#waiting = this.#waiting.subarray(size);
      return this.#credit > 0;
    }
    this.#waiting = undefined;
    this.#taken?.();
    return false;
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, taken: (error?: Error | null) => void): void {
    this.#waiting = chunk;
    this.#taken = taken;
    this.#on.ready();
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#hasSentEnd = true;
    this.#send({ t: "net.end", id: this.#id });
    done();
  }

  override _read(): void {
    this.#mayReturn = true;
    this.#returnCredit();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#on.gone();
    const isOver = this.#hasSentEnd && this.#hasReceivedEnd;
    if (!isOver && !this.#isClosedByCell) this.#send({ t: "net.close", id: this.#id });
    const taken = this.#taken;
    this.#waiting = this.#taken = undefined;
    taken?.(error);
    done(error);
  }

  #returnCredit(): void {
    if (!this.#mayReturn || this.#owed < windowBytes / 4 || this.destroyed) return;
    this.#send({ t: "net.credit", id: this.#id, bytes: this.#owed });
    this.#owed = 0;
  }
}
