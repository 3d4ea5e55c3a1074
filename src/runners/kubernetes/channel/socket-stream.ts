import { Duplex } from "node:stream";
import type { ClusterSocket } from "../client/cluster-connection.ts";

/** Which number of a message's first byte means what. */
export interface StreamNumbers {
  readonly write: number;
  readonly read: number;
  /** text about the process, or about the connection */
  readonly log: number;
  readonly status?: number;
  /** the first message of each stream only repeats the port */
  readonly hasHeads?: boolean;
}

export const attachNumbers: StreamNumbers = { write: 0, read: 1, log: 2, status: 3 };
export const portForwardNumbers: StreamNumbers = { write: 0, read: 0, log: 1, hasHeads: true };
/** In the newest protocol, the server closes single streams. */
const closeNumber = 255;
/** A larger message is one piece in the memory of every proxy on its way. */
const largestPieceBytes = 64 * 1024;
/** Load balancers in front of API servers drop connections that are idle for a minute or more. */
const pingMs = 20_000;
const maxLogCharacters = 16_384;
const maxStatusCharacters = 4096;

/**
 * A web socket of the API server with several streams, as one stream of bytes. The client's own streams know no back-pressure: they
 * would keep in memory what nobody reads. Reading pauses the socket, and a write ends when the socket has taken it.
 */
export class SocketStream extends Duplex {
  #socket: ClusterSocket | undefined;
  #log = "";
  #status = "";

  readonly #numbers: StreamNumbers;
  readonly #heads = new Set<number>();
  #pings: NodeJS.Timeout | undefined;

  constructor(numbers: StreamNumbers) {
    super({ allowHalfOpen: false });
    this.#numbers = numbers;
  }

  /** What the process printed to standard error, truncated. */
  get log(): string {
    return this.#log;
  }

  /** What the server said about the end, as JSON. */
  get status(): string {
    return this.#status;
  }

  /** For the messages of the socket, from its first one. */
  readonly onMessage = (number: number, data: Buffer): void => {
    const { read, log, status, hasHeads } = this.#numbers;
    if (hasHeads && !this.#heads.has(number)) {
      this.#heads.add(number);
      return;
    }
    if (number === read) {
      if (data.length > 0 && !this.push(data)) this.#socket?.pause();
    } else if (number === log) this.#log = (this.#log + data.toString("utf8")).slice(-maxLogCharacters);
    else if (number === status) this.#status = (this.#status + data.toString("utf8")).slice(-maxStatusCharacters);
    else if (number === closeNumber && data[0] === read) this.push(null);
  };

  carry(socket: ClusterSocket): this {
    this.#socket = socket;
    socket.on("error", (error) => this.destroy(error));
    socket.on("close", () => {
      this.push(null);
      this.destroy();
    });
    if (socket.readyState > 1) this.destroy();
    this.#pings = setInterval(() => socket.ping(), pingMs).unref();
    return this;
  }

  override _read(): void {
    this.#socket?.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: (error?: Error | null) => void): void {
    const socket = this.#socket;
    if (socket === undefined) {
      callback(new Error("the stream is not connected"));
      return;
    }
    for (let at = 0; at < chunk.length; at += largestPieceBytes) {
      const piece = chunk.subarray(at, at + largestPieceBytes);
      const message = Buffer.allocUnsafe(piece.length + 1);
      message[0] = this.#numbers.write;
      piece.copy(message, 1);
      const isLast = at + largestPieceBytes >= chunk.length;
      socket.send(message, (error) => {
        if (isLast) callback(error);
      });
    }
    if (chunk.length === 0) callback();
  }

  /** Small frames become one message. */
  override _writev(
    chunks: { chunk: Buffer; encoding: BufferEncoding }[],
    callback: (error?: Error | null) => void,
  ): void {
    this._write(Buffer.concat(chunks.map(({ chunk }) => chunk)), "utf8", callback);
  }

  /** Standard input is never closed: up to v4, a closed one makes servers drop what the process still prints. */
  override _final(callback: (error?: Error | null) => void): void {
    callback();
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    clearInterval(this.#pings);
    this.#socket?.resume(); // a paused socket would never see its own end
    this.#socket?.terminate();
    callback(error);
  }
}
