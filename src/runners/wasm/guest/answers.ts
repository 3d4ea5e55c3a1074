import { MessageChannel, type MessagePort, receiveMessageOnPort } from "node:worker_threads";

/** What the interpreter's thread needs to wait for answers: a port with them, and a counter to wait on. */
export interface AnswersEnd {
  readonly port: MessagePort;
  readonly count: SharedArrayBuffer;
}

/** An answer of the host, or a piece of one. */
interface Answer {
  readonly run: number;
  /** JSON text in UTF-8 */
  readonly header: Uint8Array;
  readonly body: Uint8Array;
}

/** How much room an answer takes. */
export interface AnswerSize {
  readonly headerBytes: number;
  readonly bodyBytes: number;
}

/** How long a wait lasts before the interpreter looks for an interrupt. */
const waitMs = 10;

/** The supervisor's end. */
export class AnswerWriter {
  /** for the thread */
  readonly far: AnswersEnd;
  readonly #port: MessagePort;
  readonly #count: Int32Array;

  constructor() {
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    port1.unref();
    this.far = { port: port2, count: new SharedArrayBuffer(4) };
    this.#count = new Int32Array(this.far.count);
  }

  /** Takes over the memory of `body`. */
  send(run: number, header: Uint8Array, body: Uint8Array): void {
    this.#port.postMessage({ run, header, body } satisfies Answer, [body.buffer as ArrayBuffer]);
    Atomics.add(this.#count, 0, 1);
    Atomics.notify(this.#count, 0);
  }

  close(): void {
    this.#port.close();
  }
}

/** The interpreter's end: it waits, because nothing else can run in its thread. */
export class AnswerReader {
  readonly #port: MessagePort;
  readonly #count: Int32Array;
  readonly #onTaken: (run: number, bytes: number) => void;
  #run: number | undefined;
  #next: Answer | undefined;

  /** `onTaken` hears how much was taken, so that the host may send more. */
  constructor({ port, count }: AnswersEnd, onTaken: (run: number, bytes: number) => void) {
    this.#port = port;
    this.#count = new Int32Array(count);
    this.#onTaken = onTaken;
  }

  /** A request starts. Answers to earlier ones are dropped. */
  begin(run: number): void {
    this.#run = run;
    this.#next = undefined;
  }

  /** The size of the next answer; undefined if none arrived in a short time. */
  next(): AnswerSize | undefined {
    while (this.#next === undefined) {
      const seen = Atomics.load(this.#count, 0);
      const received = receiveMessageOnPort(this.#port) as { readonly message: Answer } | undefined;
      if (received !== undefined) this.#receive(received.message);
      else if (Atomics.wait(this.#count, 0, seen, waitMs) === "timed-out") return undefined;
    }
    return { headerBytes: this.#next.header.length, bodyBytes: this.#next.body.length };
  }

  take(header: Uint8Array, body: Uint8Array): void {
    const answer = this.#next;
    if (answer === undefined) return;
    header.set(answer.header.subarray(0, header.length));
    body.set(answer.body.subarray(0, body.length));
    this.#next = undefined;
    this.#onTaken(answer.run, answer.body.length);
  }

  #receive(answer: Answer): void {
    if (answer.run === this.#run) this.#next = answer;
    else this.#onTaken(answer.run, answer.body.length);
  }
}
