import { Duplex } from "node:stream";
import { CodecellError } from "../lib/errors.ts";
import type { HostMessage, NetMessage } from "./messages.ts";

/** Flow-control window of one stream. The kernel in the cell has the same number. */
export const windowBytes = 256 * 1024;
/** Window while there are few streams: one fast stream needs more, but many streams would use too much memory. */
export const wideWindowBytes = 1024 * 1024;
const fewStreams = 8;
const pieceBytes = 128 * 1024;
/** Streams pause while the channel buffers this much, so that messages that control runs are not delayed. */
const congestedBytes = 256 * 1024;
const maxStreams = 64;

/** `flushed` is called once the bytes are handed to the OS. */
type Send = (message: HostMessage, body?: readonly Uint8Array[], flushed?: () => void) => void;

/** What a stream asks of the set of streams that it is in. */
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
  /** streams that have both bytes and credit, served in turn */
  readonly #ready = new Set<NetStream>();
  #latest = 0;

  constructor(channel: Duplex, send: Send, onStream: (stream: Duplex) => void) {
    this.#channel = channel;
    this.#send = send;
    this.#onStream = onStream;
    channel.on("drain", () => this.#pump());
  }

  /** Handles a message of the cell. Untrusted: it throws if the cell breaks the protocol. */
  receive(message: NetMessage, body: Uint8Array): void {
    if (message.t === "net.open") {
      this.#open(message.id);
      return;
    }
    const stream = this.#streams.get(message.id);
    if (!stream) return; // it was closed while the message was in transit
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

  /** Closes every stream, because the cell has exited. */
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

  /** Sends one piece of each stream in turn, so that no stream blocks the others. Stops while the channel is full. */
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
  /** how many bytes the cell may send before it gets new credit */
  #window = windowBytes;
  readonly #waiting: Buffer[] = [];
  /** frames that the channel has not written yet */
  #unflushed = 0;
  #taken: ((error?: Error | null) => void) | undefined;
  /** bytes received whose credit has not been returned to the cell */
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
    // Stops a compromised cell from filling the host's memory.
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

  /** Sends one piece and returns whether more can be sent now. */
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
   * Reports the write as finished, after which the writer reuses the buffer. While the channel still has bytes of it, that
   * would send one connection's data to another, so this waits for the flush even if the stream is destroyed.
   */
  #finishWrite(): void {
    if (this.#waiting.length > 0 || this.#unflushed > 0) return;
    const taken = this.#taken;
    this.#taken = undefined;
    taken?.();
  }

  /** Removes up to `size` bytes from the waiting ones. */
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
