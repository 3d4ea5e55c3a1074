import { Duplex } from "node:stream";
import { CodecellError } from "../lib/errors.ts";
import type { HostMessage, NetMessage } from "./messages.ts";

/** How much of one stream may be on its way; the kernel in the cell knows the same number. */
export const windowBytes = 256 * 1024;
/** The same while there are few streams: a fast one needs more under way, and many must not take that much each. */
export const wideWindowBytes = 1024 * 1024;
const fewStreams = 8;
const pieceBytes = 128 * 1024;
/** Bytes that wait for the channel before streams do: what controls runs waits behind them. */
const congestedBytes = 256 * 1024;
const maxStreams = 64;

/** `flushed` is called when the operating system has the bytes. */
type Send = (message: HostMessage, body?: readonly Uint8Array[], flushed?: () => void) => void;

/** What a stream needs of its siblings. */
interface Siblings {
  readonly ready: () => void;
  readonly gone: () => void;
  readonly areFew: () => boolean;
}

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
      areFew: () => this.#streams.size <= fewStreams,
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
  readonly #siblings: Siblings;
  #credit = windowBytes;
  /** what the cell may have under way */
  #window = windowBytes;
  readonly #waiting: Buffer[] = [];
  /** frames that the channel still has */
  #unflushed = 0;
  #taken: ((error?: Error | null) => void) | undefined;
  /** received, and the cell does not have the credit for it back yet */
  #owed = 0;
  #mayReturn = true;
  #hasSentEnd = false;
  #hasReceivedEnd = false;
  #isClosedByCell = false;

  constructor(id: number, send: Send, siblings: Siblings) {
    super({ allowHalfOpen: true, readableHighWaterMark: windowBytes, writableHighWaterMark: windowBytes });
    this.#id = id;
    this.#send = send;
    this.#siblings = siblings;
  }

  receive(body: Uint8Array): void {
    this.#owed += body.byteLength;
    // The cell promised to stay within its credit; it is not believed.
    if (this.#owed > this.#window || this.#hasReceivedEnd) {
      throw new CodecellError("cell_lost", "the cell exceeded the flow-control window of a connection");
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
    if (this.#credit > wideWindowBytes) {
      throw new CodecellError("cell_lost", "the cell returned credit that it never had");
    }
    if (this.#waiting.length > 0) this.#siblings.ready();
  }

  /** Sends what one turn allows; whether there is more to send now. */
  sendPiece(): boolean {
    const pieces = this.destroyed ? [] : this.#takePieces(Math.min(pieceBytes, this.#credit));
    if (pieces.length === 0) return false;
    for (const { byteLength } of pieces) this.#credit -= byteLength;
    this.#unflushed++;
    this.#send({ t: "net.data", id: this.#id }, pieces, () => {
      this.#unflushed--;
      this.#finishWrite();
    });
    return this.#waiting.length > 0 && this.#credit > 0;
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, taken: (error?: Error | null) => void): void {
    this.#waiting.push(chunk);
    this.#taken = taken;
    this.#siblings.ready();
  }

  override _writev(chunks: { chunk: Buffer }[], taken: (error?: Error | null) => void): void {
    for (const { chunk } of chunks) this.#waiting.push(chunk);
    this.#taken = taken;
    this.#siblings.ready();
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
    this.#siblings.gone();
    const isOver = this.#hasSentEnd && this.#hasReceivedEnd;
    if (!isOver && !this.#isClosedByCell) this.#send({ t: "net.close", id: this.#id });
    this.#waiting.length = 0;
    this.#finishWrite();
    done(error);
  }

  #returnCredit(): void {
    if (!this.#mayReturn || this.#owed < this.#window / 4 || this.destroyed) return;
    const wider = this.#siblings.areFew() ? wideWindowBytes - this.#window : 0;
    this.#window += wider;
    this.#send({ t: "net.credit", id: this.#id, bytes: this.#owed + wider });
    this.#owed = 0;
  }

  /**
   * Whoever wrote the bytes uses their memory again for another's once they are taken: not before all that was sent has
   * left, even when the stream is destroyed meanwhile.
   */
  #finishWrite(): void {
    if (this.#waiting.length > 0 || this.#unflushed > 0) return;
    const taken = this.#taken;
    this.#taken = undefined;
    taken?.();
  }

  /** What waits, up to a size. */
  #takePieces(size: number): Buffer[] {
    const pieces: Buffer[] = [];
    for (let first = this.#waiting[0]; first && size > 0; first = this.#waiting[0]) {
      pieces.push(first.subarray(0, size));
      if (first.length > size) this.#waiting[0] = first.subarray(size);
      else this.#waiting.shift();
      size -= Math.min(size, first.length);
    }
    return pieces;
  }
}
