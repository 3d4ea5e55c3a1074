import type { Duplex } from "node:stream";
import { deadline } from "../lib/deadline.ts";
import { CodecellError, messageOf } from "../lib/errors.ts";
import { Credit } from "./credit.ts";
import { encodeFrameHead, type Frame, FrameDecoder } from "./frames.ts";
import {
  type CellMessage,
  cellMessage,
  type DoneMessage,
  type HostMessage,
  type Language,
  type Variable,
  variableList,
} from "./messages.ts";

export type StartConfig = Omit<Extract<HostMessage, { t: "start" }>, "t">;
export type ValueFormat = "json" | "bytes" | "repr";

export interface RunRequest {
  readonly language: Language;
  readonly code: string;
  readonly timeoutMs: number;
  readonly outputBytes: number;
}

/** What a run sends before it ends. */
export interface RunHandlers {
  onOutput(stream: "stdout" | "stderr", bytes: Uint8Array): void;
  onDisplay(part: { display: number; mime: string; more: boolean }, bytes: Uint8Array): void;
}

/** The interpreter died between two runs. */
export type LostMessage = Extract<CellMessage, { t: "lost" }>;

export interface KernelInfo {
  readonly python: string;
  readonly languages: readonly string[];
}

type Pending =
  | { kind: "run"; handlers: RunHandlers; resolve: (done: DoneMessage) => void; reject: (error: Error) => void }
  | {
      kind: "request";
      chunks: Uint8Array[];
      received: number;
      maxBytes: number;
      credit: Credit | undefined;
      resolve: (data: Buffer) => void;
      reject: (error: Error) => void;
    };

const startTimeoutMs = 60_000;
const maxVariablesBytes = 8 * 1024 * 1024;
const transferTimeoutMs = 120_000;
/** How long after a request's own limit the supervisor may take to say so: it may have to bring a copy back first. */
const answerGraceMs = 15_000;
/** Requests and runs share the wire but not their numbers: `<run 3>` in a traceback is the third run. */
const firstRequestId = 2 ** 32;

/** Speaks the kernel's protocol over a cell's channel. Whatever comes back is checked; a broken promise ends it. */
export class KernelClient {
  readonly #channel: Duplex;
  readonly #decoder = new FrameDecoder();
  readonly #pending = new Map<number, Pending>();
  readonly #onLost: (message: LostMessage) => void;
  #runs = 0;
  #requests = firstRequestId;
  #failure: CodecellError | undefined;
  #ready: { resolve: () => void; reject: (error: Error) => void } | undefined;
  #info: KernelInfo = { python: "", languages: [] };

  private constructor(channel: Duplex, onLost: (message: LostMessage) => void) {
    this.#channel = channel;
    this.#onLost = onLost;
    channel.on("data", (bytes: Buffer) => this.#receive(bytes));
    channel.on("error", (error) =>
      this.#fail(new CodecellError("cell_lost", "the cell's channel broke", { cause: error })),
    );
    channel.on("close", () => this.#fail(new CodecellError("cell_lost", "the cell ended")));
    channel.on("end", () => this.#fail(new CodecellError("cell_lost", "the cell ended")));
  }

  /** Sets the worker up and returns when it is ready for code. */
  static async connect(
    channel: Duplex,
    config: StartConfig,
    options: { signal?: AbortSignal; onLost?: (message: LostMessage) => void } = {},
  ): Promise<KernelClient> {
    const client = new KernelClient(channel, options.onLost ?? (() => {}));
    using limit = deadline(startTimeoutMs, options.signal);
    await new Promise<void>((resolve, reject) => {
      client.#ready = { resolve, reject };
      limit.signal.addEventListener("abort", () => {
        reject(new CodecellError("aborted", `the start was given up: ${messageOf(limit.signal.reason)}`));
      });
      client.#send({ t: "start", ...config });
    });
    return client;
  }

  get info(): KernelInfo {
    return this.#info;
  }

  /** The number that the next run gets. */
  get nextRunId(): number {
    return this.#runs + 1;
  }

  run(request: RunRequest, handlers: RunHandlers): { id: number; done: Promise<DoneMessage> } {
    this.#assertAlive();
    const id = ++this.#runs;
    const { language, timeoutMs, outputBytes } = request;
    const done = new Promise<DoneMessage>((resolve, reject) => {
      this.#pending.set(id, { kind: "run", handlers, resolve, reject });
    });
    this.#send({ t: "run", id, language, timeoutMs, outputBytes }, Buffer.from(request.code));
    return { id, done };
  }

  /** First call: stop the run and keep the state. Second call: end it. */
  interrupt(runId: number): void {
    if (!this.#failure) this.#send({ t: "interrupt", id: runId });
  }

  async variables(timeoutMs = 10_000): Promise<Variable[]> {
    const data = await this.#request((id) => ({ t: "vars", id, timeoutMs }), maxVariablesBytes);
    return listOfVariables(data);
  }

  /** The value of a variable or an expression. */
  get(expression: string, format: ValueFormat, options: { maxBytes: number; timeoutMs: number }): Promise<Buffer> {
    return this.#request((id) => ({ t: "get", id, expression, format, ...options }), options.maxBytes);
  }

  /** Puts bytes (raw, or as JSON text) into a variable; large values go as a stream of raw frames. */
  async set(name: string, format: "json" | "bytes", data: Uint8Array): Promise<void> {
    const credit = new Credit();
    let id = 0;
    const reply = this.#request(
      (requestId) => {
        id = requestId;
        return { t: "set", id: requestId, name, format, size: data.byteLength, timeoutMs: transferTimeoutMs };
      },
      0,
      credit,
    );
    const sent = credit.spend(data, (piece) => this.#send({ t: "data", id }, piece));
    await Promise.all([reply.finally(() => credit.close()), sent]);
  }

  async reset(): Promise<void> {
    await this.#request((id) => ({ t: "reset", id }), 0);
  }

  #request(message: (id: number) => HostMessage, maxBytes: number, credit?: Credit): Promise<Buffer> {
    this.#assertAlive();
    const id = ++this.#requests;
    const request = message(id);
    const limitMs = ("timeoutMs" in request ? request.timeoutMs : 0) + answerGraceMs;
    let watchdog: NodeJS.Timeout | undefined;
    // Stops a cell that never answers from holding its caller. What came before may take its own time.
    const watch = () => {
      const [oldest] = this.#pending.keys();
      if (oldest === id) this.#abandon(new CodecellError("cell_lost", "the cell did not answer and was ended"));
      else watchdog = setTimeout(watch, limitMs);
    };
    return new Promise<Buffer>((resolve, reject) => {
      this.#pending.set(id, { kind: "request", chunks: [], received: 0, maxBytes, credit, resolve, reject });
      watchdog = setTimeout(watch, limitMs);
      this.#send(request);
    }).finally(() => clearTimeout(watchdog));
  }

  #abandon(error: CodecellError): void {
    this.#fail(error);
    this.#channel.destroy();
  }

  #send(message: HostMessage, body?: Uint8Array): void {
    const head = encodeFrameHead(message, body?.byteLength);
    if (!body?.byteLength) {
      this.#channel.write(head);
      return;
    }
    this.#channel.cork();
    this.#channel.write(head);
    this.#channel.write(body);
    this.#channel.uncork();
  }

  #receive(bytes: Buffer): void {
    if (this.#failure) return;
    try {
      this.#decoder.push(bytes, (frame) => this.#onFrame(frame));
    } catch (error) {
      this.#abandon(error instanceof CodecellError ? error : new CodecellError("internal", messageOf(error)));
    }
  }

  #onFrame({ header, body }: Frame): void {
    const parsed = cellMessage.safeParse(header);
    if (!parsed.success) {
      throw new CodecellError("cell_lost", "the cell sent a message that is not part of the protocol");
    }
    this.#onMessage(parsed.data, body);
  }

  #onMessage(message: CellMessage, body: Uint8Array): void {
    switch (message.t) {
      case "hello":
        this.#info = { python: message.python, languages: message.languages };
        return;
      case "ready":
        this.#ready?.resolve();
        this.#ready = undefined;
        return;
      case "failed":
        // Once user code has run, a cell that reports a failed start is one that was lost.
        this.#fail(
          new CodecellError(
            this.#ready ? "cell_start_failed" : "cell_lost",
            `the cell could not be set up: ${message.reason}`,
          ),
        );
        return;
      case "lost":
        this.#onLost(message);
        return;
      case "out":
        this.#runHandlers(message.id)?.onOutput(message.stream, body);
        return;
      case "display":
        this.#runHandlers(message.id)?.onDisplay(message, body);
        return;
      case "done":
        this.#onDone(message);
        return;
      case "data":
        this.#onData(message.id, body);
        return;
      case "credit": {
        const pending = this.#pending.get(message.id);
        if (pending?.kind === "request") pending.credit?.grant(message.bytes);
        return;
      }
      case "reply":
        this.#onReply(message);
        return;
    }
  }

  #runHandlers(id: number): RunHandlers | undefined {
    const pending = this.#pending.get(id);
    return pending?.kind === "run" ? pending.handlers : undefined;
  }

  #onDone(message: DoneMessage): void {
    const pending = this.#pending.get(message.id);
    if (pending?.kind !== "run") return;
    this.#pending.delete(message.id);
    pending.resolve(message);
  }

  #onData(id: number, body: Uint8Array): void {
    const pending = this.#pending.get(id);
    if (pending?.kind !== "request") return;
    pending.received += body.byteLength;
    // The cell promised to stay below the limit; it is not believed.
    if (pending.received > pending.maxBytes)
      throw new CodecellError("cell_lost", "the cell sent more than was asked for");
    pending.chunks.push(body);
  }

  #onReply(message: Extract<CellMessage, { t: "reply" }>): void {
    const pending = this.#pending.get(message.id);
    if (pending?.kind !== "request") return;
    this.#pending.delete(message.id);
    if (message.ok) {
      pending.resolve(Buffer.concat(pending.chunks));
      return;
    }
    const code = message.code === "timeout" ? "expression_failed" : (message.code ?? "internal");
    pending.reject(new CodecellError(code, message.message ?? "the kernel gave no reason"));
  }

  #assertAlive(): void {
    if (this.#failure) throw this.#failure;
  }

  #fail(error: CodecellError): void {
    if (this.#failure) return;
    this.#failure = error;
    this.#ready?.reject(error);
    for (const pending of this.#pending.values()) {
      if (pending.kind === "request") pending.credit?.close();
      pending.reject(error);
    }
    this.#pending.clear();
  }
}

/** User code can change what the cell answers with. */
function listOfVariables(data: Buffer): Variable[] {
  try {
    return variableList.parse(JSON.parse(data.toString()));
  } catch (error) {
    throw new CodecellError("variable_unserializable", "the cell's list of variables cannot be read", { cause: error });
  }
}
