import { MessageChannel, type MessagePort, receiveMessageOnPort } from "node:worker_threads";

/** What the interpreter's thread needs to read its standard input: a port with the pieces, and a counter of them to wait on. */
export interface StdinEnd {
  readonly port: MessagePort;
  readonly pieces: SharedArrayBuffer;
}

/** A piece of a run's standard input; without bytes it is the end. */
interface Piece {
  readonly run: number;
  readonly bytes: Uint8Array | undefined;
}

/** How long a read waits before the interpreter looks for an interrupt. */
const waitMs = 10;
/** Programs read a few kilobytes at a time. Reporting less often saves messages. */
const reportBytes = 256 * 1024;

/** The supervisor's end. */
export class StdinWriter {
  /** for the thread */
  readonly far: StdinEnd;
  readonly #port: MessagePort;
  readonly #pieces: Int32Array;

  constructor() {
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    port1.unref();
    this.far = { port: port2, pieces: new SharedArrayBuffer(4) };
    this.#pieces = new Int32Array(this.far.pieces);
  }

  /** Takes over the memory of `bytes`. */
  send(run: number, bytes: Uint8Array | undefined): void {
    this.#port.postMessage({ run, bytes } satisfies Piece, bytes === undefined ? [] : [bytes.buffer as ArrayBuffer]);
    Atomics.add(this.#pieces, 0, 1);
    Atomics.notify(this.#pieces, 0);
  }

  close(): void {
    this.#port.close();
  }
}

/** The interpreter's end: reads block, as they do for any program. */
export class StdinReader {
  readonly #port: MessagePort;
  readonly #pieces: Int32Array;
  readonly #onRead: (run: number, bytes: number) => void;
  #run: number | undefined;
  #rest = new Uint8Array(0);
  #hasEnded = true;
  #unreported = 0;

  /** `onRead` hears how much was read, so that the host may send more. */
  constructor({ port, pieces }: StdinEnd, onRead: (run: number, bytes: number) => void) {
    this.#port = port;
    this.#pieces = new Int32Array(pieces);
    this.#onRead = onRead;
  }

  /** A new run starts, with its own input or with none. What the last one did not read is dropped. */
  begin(run: number | undefined): void {
    this.#run = run;
    this.#rest = this.#rest.subarray(0, 0);
    this.#hasEnded = run === undefined;
    this.#unreported = 0;
  }

  /** The number of bytes read; 0 at the end of the input, -1 if none arrived in a short time. */
  read(into: Uint8Array): number {
    if (into.length === 0) return 0;
    while (this.#rest.length === 0) {
      if (this.#hasEnded) return 0;
      const seen = Atomics.load(this.#pieces, 0);
      const received = receiveMessageOnPort(this.#port) as { readonly message: Piece } | undefined;
      if (received !== undefined) this.#take(received.message);
      else if (Atomics.wait(this.#pieces, 0, seen, waitMs) === "timed-out") return -1;
    }
    const count = Math.min(into.length, this.#rest.length);
    into.set(this.#rest.subarray(0, count));
    this.#rest = this.#rest.subarray(count);
    this.#unreported += count;
    if (this.#rest.length === 0 || this.#unreported >= reportBytes) this.#report();
    return count;
  }

  #report(): void {
    if (this.#run !== undefined) this.#onRead(this.#run, this.#unreported);
    this.#unreported = 0;
  }

  #take({ run, bytes }: Piece): void {
    if (run !== this.#run) return; // an earlier run did not read it
    if (bytes === undefined) this.#hasEnded = true;
    else this.#rest = bytes as Uint8Array<ArrayBuffer>;
  }
}
