import { Worker } from "node:worker_threads";
import { AnswerWriter } from "./answers.ts";
import { createTail, OutputTail } from "./output-tail.ts";
import { createRing, OutputCounters, type RecordKind, RingReader, recordKinds } from "./ring.ts";
import { StdinWriter } from "./stdin.ts";
import type { FromInterpreter, ThreadInput, ToInterpreter } from "./thread-messages.ts";
import { threadOptions } from "./thread-options.ts";

export type ThreadEnd = { readonly why: "crashed" | "out_of_memory"; readonly reason: string };

export interface ThreadEvents {
  loaded(python: string): void;
  /** before `loaded`: the interpreter could not be set up */
  failed(reason: string): void;
  output(stream: "stdout" | "stderr", bytes: Uint8Array): void;
  /** header: JSON text from Python */
  message(header: string, body: Uint8Array): void;
  /** a run has read this much of its standard input */
  read(run: number, bytes: number): void;
  /** the interpreter has taken this much of the answers to its calls */
  taken(bytes: number): void;
  /** the interpreter exited on its own; its thread waits for `kill` */
  ended(end: ThreadEnd): void;
  /** whether the channel accepts more data now */
  isOpen(): boolean;
}

const interruptSignal = 2;
const joinBytes = 256 * 1024;

/** One interpreter in its thread. Reads only text, bytes and numbers from it, because its objects are untrusted. */
export class InterpreterThread {
  readonly counters: OutputCounters;
  readonly stdin = new StdinWriter();
  readonly answers = new AnswerWriter();
  readonly tail: OutputTail;
  readonly #events: ThreadEvents;
  readonly #reader: RingReader;
  readonly #worker: Worker;
  #interrupt: Uint8Array | undefined;
  #isOver = false;

  constructor(input: Omit<ThreadInput, "ring" | "stdin" | "answers" | "tail">, events: ThreadEvents) {
    const ring = createRing();
    const tail = createTail();
    this.#events = events;
    this.#reader = new RingReader(ring);
    this.counters = new OutputCounters(ring);
    this.tail = new OutputTail(tail);
    this.#worker = new Worker(new URL("./worker.js", import.meta.url), {
      workerData: { ...input, ring, tail, stdin: this.stdin.far, answers: this.answers.far } satisfies ThreadInput,
      transferList: [this.stdin.far.port, this.answers.far.port],
      ...threadOptions,
    });
    this.#worker.on("message", (message: FromInterpreter) => this.#onMessage(message));
    this.#worker.on("error", (error: NodeJS.ErrnoException) => {
      const isMemory = error.code === "ERR_WORKER_OUT_OF_MEMORY";
      this.#end({ why: isMemory ? "out_of_memory" : "crashed", reason: "the interpreter's thread failed" });
    });
    this.#worker.on("exit", () => this.#end({ why: "crashed", reason: "the interpreter's thread exited" }));
  }

  post(message: ToInterpreter): void {
    const body = message.kind !== "cancel" ? message.body : undefined;
    this.#worker.postMessage(message, body === undefined ? [] : [body.buffer as ArrayBuffer]);
  }

  /** Raises KeyboardInterrupt in running code, and cancels code that awaits. */
  interrupt(runId: number): void {
    if (this.#interrupt) Atomics.store(this.#interrupt, 0, interruptSignal);
    this.post({ kind: "cancel", id: runId });
  }

  clearInterrupt(): void {
    if (this.#interrupt) Atomics.store(this.#interrupt, 0, 0);
  }

  /** Kills the thread. What it has written is still delivered. No event follows. */
  async kill(): Promise<void> {
    this.#isOver = true;
    await this.#worker.terminate();
    this.stdin.close();
    this.answers.close();
    this.drain({ isLast: true });
  }

  /** Delivers the ring's records while the channel accepts them, or all of them if `isLast`. */
  drain({ isLast = false } = {}): void {
    let stream: RecordKind | undefined;
    let parts: Uint8Array[] = [];
    let size = 0;
    // Programs print line by line. Joining small writes saves frames.
    const flush = () => {
      if (stream !== undefined && size > 0) {
        const only = parts.length === 1 ? parts[0] : undefined;
        this.#events.output(stream === recordKinds.stderr ? "stderr" : "stdout", only ?? Buffer.concat(parts, size));
      }
      stream = undefined;
      parts = [];
      size = 0;
    };
    this.#reader.drain((kind, payload) => {
      if (kind === recordKinds.message) {
        flush();
        const bodyAt = 4 + new DataView(payload.buffer).getUint32(0, true);
        this.#events.message(Buffer.from(payload.buffer, 4, bodyAt - 4).toString(), payload.subarray(bodyAt));
        return isLast || this.#events.isOpen();
      }
      if (kind !== stream || size + payload.length > joinBytes) flush();
      stream = kind;
      parts.push(payload);
      size += payload.length;
      return isLast || this.#events.isOpen();
    });
    flush();
  }

  #onMessage(message: FromInterpreter): void {
    if (this.#isOver) return;
    switch (message.kind) {
      case "wake":
        if (this.#events.isOpen()) this.drain();
        return;
      case "read":
        this.#events.read(message.run, message.bytes);
        return;
      case "taken":
        this.#events.taken(message.bytes);
        return;
      case "loaded":
        this.#interrupt = new Uint8Array(message.interrupt);
        this.#events.loaded(message.python);
        return;
      case "failed":
        this.#isOver = true;
        this.#events.failed(message.reason);
        return;
      case "died":
        this.#end({ why: "crashed", reason: message.reason });
        return;
    }
  }

  #end(end: ThreadEnd): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.drain({ isLast: true });
    this.#events.ended(end);
  }
}
