import type { Duplex } from "node:stream";
import { CodecellError } from "../lib/errors.ts";
import { variablesAsAfter } from "../lib/variables-as-after.ts";
import { defaultLanguage, type Language } from "../policy/languages.ts";
import { AnswerPieces } from "./answer-pieces.ts";
import { CellFiles } from "./cell-files.ts";
import { decodeCompletions, decodeInspection, decodeRestoreFailures, decodeVariables } from "./cell-json.ts";
import {
  type Branch,
  type ConnectionOptions,
  KernelConnection,
  type KernelInfo,
  type KernelUsage,
} from "./connection.ts";
import { Credit } from "./credit.ts";
import { GuestCalls, type OnGuestCall } from "./guest-calls.ts";
import type {
  CellFile,
  CellMessage,
  CompletionKind,
  CompletionList,
  DoneMessage,
  HostMessage,
  Inspection,
  KernelSetup,
  Program,
  RestoreFailure,
  ValueFormat,
  Variable,
} from "./messages.ts";
import { RunNumbers } from "./run-numbers.ts";
import { type StdinSource, sendStdin } from "./stdin.ts";

/** The id of a rehearsal. The kernel recognizes it by this number. */
const rehearsalId = 0;
const rehearsalMs = 5_000;

export interface RunRequest {
  readonly language: Language;
  readonly code: string;
  readonly timeoutMs: number;
  readonly outputBytes: number;
  /** name and arguments; `stdin` is set for a run that has `stdin` */
  readonly program?: Program | undefined;
  readonly stdin?: StdinSource | undefined;
  /** how long the run's time may stand still while it waits for functions of the host */
  readonly hostWaitMs?: number;
}

/** What a run sends while it is running. */
export interface RunHandlers {
  /** `skipped`: how many bytes of the stream before these were left out */
  onOutput(stream: "stdout" | "stderr", bytes: Uint8Array, skipped: number): void;
  onDisplay(part: { display: number; mime: string; more: boolean }, bytes: Uint8Array): void;
  /** the program prints more than is forwarded at once: how many bytes the cell holds back so far */
  onHeld?(bytes: number): void;
  /** called with the last message of the run, before any later message is handled */
  onEnd?(): void;
  /** the source of its standard input failed; the program has not seen the end of its input */
  onStdinFailure?(error: unknown): void;
}

export type LostMessage = Extract<CellMessage, { t: "lost" }>;

/** What an interpreter reports without a request. */
export interface InterpreterEvents {
  /** it died between two runs */
  onLost?(message: LostMessage): void;
  /** a checkpoint of it was lost */
  onGone?(name: string): void;
}

/** Which call a fork is made in, and which of its inputs the fork gets. */
export interface ForkInCall {
  readonly call: number;
  readonly item: number;
}

/** What to complete, and where to look for it. */
export interface CompletionTarget {
  readonly kind: CompletionKind;
  readonly path: readonly string[];
  readonly prefix: string;
}

interface Answer {
  readonly data: Buffer;
  readonly file: CellFile | undefined;
}

type Pending =
  | {
      kind: "run";
      handlers: RunHandlers;
      /** for its standard input */
      credit: Credit | undefined;
      resolve: (done: DoneMessage) => void;
      reject: (error: Error) => void;
    }
  | {
      kind: "request";
      pieces: AnswerPieces;
      received: number;
      maxBytes: number;
      /** called for each part of the answer; the request fails with what it throws */
      onBytes: ((bytes: number) => void) | undefined;
      /** why the host does not want the answer; the rest of it is dropped */
      refusal?: { readonly error: unknown };
      credit: Credit | undefined;
      resolve: (answer: Answer) => void;
      reject: (error: Error) => void;
    };

/** What some requests have. */
interface RequestExtras {
  readonly credit?: Credit | undefined;
  readonly onBytes?: ((bytes: number) => void) | undefined;
  readonly body?: Uint8Array;
}

/** A request without its id. */
type Request = HostMessage extends infer Message
  ? Message extends { id: number }
    ? Omit<Message, "id">
    : never
  : never;

const maxVariablesBytes = 8 * 1024 * 1024;
const maxCompletionBytes = 2 * 1024 * 1024;
const maxInspectionBytes = 1024 * 1024;
const maxReportBytes = 4 * 1024 * 1024;
const transferTimeoutMs = 120_000;
/** How long after a request's own limit the supervisor may take to answer: it may have to wake a parked copy first. */
const answerGraceMs = 15_000;
/** Requests have ids far above those of runs, so that `<run 3>` in a traceback is the third run. */
const firstRequestId = 2 ** 32;

/** The client of one interpreter in a cell. */
export class KernelClient implements Branch {
  /** the files in the cell, if the kernel has the feature "files" */
  readonly files = new CellFiles((request, maxBytes, body) =>
    body === undefined ? this.#exchange(request, maxBytes) : this.#transfer(request, body, maxBytes),
  );
  readonly #connection: KernelConnection;
  readonly #branch: number;
  readonly #pending = new Map<number, Pending>();
  #lost: CodecellError | undefined;
  /** the interpreter was told to leave: it takes no further requests */
  #leaving: CodecellError | undefined;
  readonly #events: InterpreterEvents;
  /** translates its run ids into the session's numbers */
  readonly numbers = new RunNumbers();
  #runs: number;
  #stateRun: number | undefined;
  #freshStarts = 0;
  #requests = firstRequestId;
  /** calls of its programs to functions of the host, once some are exposed */
  #calls: GuestCalls | undefined;

  private constructor(connection: KernelConnection, branch: number, runs: number, events: InterpreterEvents) {
    this.#connection = connection;
    this.#branch = branch;
    this.#runs = runs;
    this.#stateRun = runs;
    this.#events = events;
    connection.attach(branch, this);
  }

  /** Sets the worker up and returns when it is ready for code. */
  static async connect(
    channel: Duplex,
    setup: KernelSetup,
    options: ConnectionOptions & { events?: InterpreterEvents } = {},
  ): Promise<KernelClient> {
    const connection = await KernelConnection.open(channel, setup, options);
    return new KernelClient(connection, 0, 0, options.events ?? {});
  }

  get info(): KernelInfo {
    return this.#connection.info;
  }

  /** What all processes of the cell use; undefined: this kernel does not count. */
  usage(): Promise<KernelUsage | undefined> {
    return this.#connection.usage();
  }

  /** Whether the cell still answers. */
  get isAlive(): boolean {
    return this.#failure === undefined;
  }

  /** Whether no run or request is waiting for its answer. */
  get isIdle(): boolean {
    return this.#pending.size === 0;
  }

  /** The id of the next run. */
  get nextRunId(): number {
    return this.#runs + 1;
  }

  /** The run whose final state the interpreter has; after a crash, an earlier one. Undefined: a crash lost everything. */
  get stateRun(): number | undefined {
    return this.#stateRun;
  }

  /** How often the interpreter was lost with everything in it and replaced by a fresh one. */
  get freshStarts(): number {
    return this.#freshStarts;
  }

  /** The interpreter has the state of this run again. */
  wentBackTo(run: number | undefined): void {
    this.#stateRun = run === undefined ? undefined : Math.min(run, this.#runs);
  }

  run(request: RunRequest, handlers: RunHandlers): { id: number; done: Promise<DoneMessage> } {
    return this.#run(++this.#runs, request, handlers);
  }

  /**
   * Runs an empty program before the first real run. A forked process copies each memory page on the first write;
   * a rehearsal copies these pages ahead of time, so the first real run is faster. It gets no run number, and no copy is
   * parked after it.
   */
  async rehearse(): Promise<void> {
    const nothing: RunRequest = { code: "None", language: defaultLanguage, timeoutMs: rehearsalMs, outputBytes: 0 };
    await this.#run(rehearsalId, nothing, { onOutput() {}, onDisplay() {} }).done;
  }

  #run(id: number, request: RunRequest, handlers: RunHandlers): { id: number; done: Promise<DoneMessage> } {
    this.#assertAlive();
    const { language, timeoutMs, outputBytes, program, stdin, hostWaitMs } = request;
    const credit = stdin && new Credit();
    const done = new Promise<DoneMessage>((resolve, reject) => {
      this.#pending.set(id, { kind: "run", handlers, credit, resolve, reject });
    });
    const message = { t: "run", id, language, timeoutMs, outputBytes } as const;
    const isOrdinary = program === undefined && hostWaitMs === undefined;
    const full = isOrdinary ? message : { ...message, ...(program && { program }), ...(hostWaitMs && { hostWaitMs }) };
    this.#connection.sendText(this.#branch, full, request.code);
    if (stdin && credit) {
      const send = (piece: Uint8Array, isLast: boolean) =>
        this.#send({ t: "in", id, ...(isLast && { end: true }) }, piece);
      sendStdin(stdin, credit, send).catch((error) => {
        if (!credit.isClosed) handlers.onStdinFailure?.(error);
      });
    }
    return { id, done };
  }

  /** First call: interrupt the run and keep the state. Second call: kill the worker. */
  interrupt(runId: number): void {
    if (this.isAlive) this.#send({ t: "interrupt", id: runId });
  }

  async variables(timeoutMs = 10_000): Promise<Variable[]> {
    return decodeVariables(await this.#request({ t: "vars", timeoutMs }, maxVariablesBytes));
  }

  /** The value of a variable or an expression. */
  async get(
    expression: string,
    format: ValueFormat,
    options: { maxBytes: number; timeoutMs: number },
    onBytes?: (bytes: number) => void,
  ): Promise<Buffer> {
    const request = { t: "get", expression, format, ...options } as const;
    return (await this.#exchange(request, options.maxBytes, { onBytes })).data;
  }

  /** Names that a prefix can be completed to. No code of the session runs. */
  async complete(target: CompletionTarget, timeoutMs: number): Promise<CompletionList> {
    return decodeCompletions(await this.#request({ t: "complete", ...target, timeoutMs }, maxCompletionBytes));
  }

  /** What is known of a dotted name; null: there is no such name. */
  async inspect(path: readonly string[], source: boolean, timeoutMs: number): Promise<Inspection | null> {
    return decodeInspection(await this.#request({ t: "inspect", path, source, timeoutMs }, maxInspectionBytes));
  }

  /** Sets a variable to bytes (raw, or as JSON text). Large values are sent as a stream of raw frames. */
  async set(name: string, format: "json" | "bytes" | "text", data: Uint8Array): Promise<void> {
    await this.#transfer({ t: "set", name, format, size: data.byteLength, timeoutMs: transferTimeoutMs }, data, 0);
  }

  async reset(): Promise<void> {
    await this.#request({ t: "reset" }, 0);
    this.#stateRun = this.#runs;
  }

  /** Keeps a frozen copy of the interpreter under a name. */
  async checkpoint(name: string): Promise<void> {
    await this.#request({ t: "checkpoint", name }, 0);
  }

  /** Continues from a checkpoint, which is kept. */
  async rollback(name: string): Promise<void> {
    await this.#request({ t: "rollback", name }, 0);
    this.#stateRun = this.#runs;
  }

  async forget(name: string): Promise<void> {
    await this.#request({ t: "forget", name }, 0);
  }

  /** Replaces the functions that programs may call, from the next run on. `functions` is JSON; see `FunctionSpec`. */
  async expose(functions: Uint8Array, onCall: OnGuestCall): Promise<void> {
    this.#calls?.close();
    this.#calls = new GuestCalls((message, body) => this.#send(message, body), onCall);
    await this.#exchange({ t: "expose" }, 0, { body: functions });
  }

  /** How long the active run has waited for functions of the host. */
  get hostWaitedMs(): number {
    return this.#calls?.waitedMs ?? 0;
  }

  /**
   * Starts a second interpreter in the same cell, from this one's state. With `inCall`, in the middle of a run that waits for
   * the answer to this call.
   */
  async fork(events: InterpreterEvents, inCall?: ForkInCall): Promise<KernelClient> {
    const branch = this.#connection.newBranch();
    const fork = new KernelClient(this.#connection, branch, this.#runs, events);
    try {
      await this.#request({ t: "fork", into: branch, ...inCall }, 0);
      return fork;
    } catch (error) {
      this.#connection.detach(branch);
      throw error;
    }
  }

  /**
   * Ends a fork's interpreter. The cell keeps running for the others, so nothing may wait for an answer of this interpreter from now
   * on: its watchdog would take the silence for a stuck supervisor, and end the cell for all.
   */
  async leave(): Promise<void> {
    const left = this.#request({ t: "leave" }, 0);
    this.#leaving = new CodecellError("session_closed", "the session was closed");
    await left;
    this.onFailure(this.#leaving);
    this.#connection.detach(this.#branch);
  }

  /** Every variable as bytes, made inside the cell. Untrusted: pass them to `restore` and nothing else. */
  snapshot(options: {
    maxBytes: number;
    timeoutMs: number;
    maxValueBytes?: number;
    maxItems?: number;
    graceMs?: number;
  }): Promise<Buffer> {
    return this.#request({ t: "snapshot", ...options }, options.maxBytes);
  }

  /** Restores the variables of a snapshot, and returns those that could not be restored. */
  async restore(data: Uint8Array, timeoutMs = transferTimeoutMs): Promise<RestoreFailure[]> {
    const request: Request = { t: "restore", size: data.byteLength, timeoutMs };
    const { data: report } = await this.#transfer(request, data, maxReportBytes);
    return decodeRestoreFailures(report);
  }

  onMessage(message: CellMessage, body: Uint8Array): void {
    switch (message.t) {
      case "lost":
        if (message.state === "lost") this.#freshStarts++;
        this.wentBackTo(message.recoveredTo);
        this.#events.onLost?.(this.#told(message));
        return;
      case "gone":
        this.#events.onGone?.(message.name);
        return;
      case "out":
        this.#runHandlers(message.id)?.onOutput(message.stream, body, message.skipped ?? 0);
        return;
      case "held":
        this.#runHandlers(message.id)?.onHeld?.(message.bytes);
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
        pending?.credit?.grant(message.bytes);
        return;
      }
      case "reply":
        this.#onReply(message);
        return;
      case "call":
        this.#calls?.receive(message, body, this.#pending.get(message.id)?.kind === "run");
        return;
      case "call.drop":
        this.#calls?.drop(message.call);
        return;
      case "call.credit":
        this.#calls?.grant(message.bytes);
        return;
    }
  }

  onFailure(error: CodecellError): void {
    this.#lost = error;
    this.#calls?.close();
    for (const pending of this.#pending.values()) {
      pending.credit?.close();
      pending.reject(error);
    }
    this.#pending.clear();
  }

  /** A request whose body follows as a stream of raw frames. */
  async #transfer(request: Request, data: Uint8Array, maxBytes: number): Promise<Answer> {
    const credit = new Credit();
    const reply = this.#exchange(request, maxBytes, { credit });
    const id = this.#requests;
    const sent = credit.spend(data, (piece) => this.#send({ t: "data", id }, piece));
    const [answer] = await Promise.all([reply.finally(() => credit.close()), sent]);
    return answer;
  }

  async #request(request: Request, maxBytes: number): Promise<Buffer> {
    return (await this.#exchange(request, maxBytes)).data;
  }

  #exchange(request: Request, maxBytes: number, extras: RequestExtras = {}): Promise<Answer> {
    this.#assertAlive();
    const id = ++this.#requests;
    const limitMs = ("timeoutMs" in request ? request.timeoutMs : 0) + answerGraceMs;
    let watchdog: NodeJS.Timeout | undefined;
    // Stops a cell that never answers from blocking its caller forever. Requests before this one have their own limit.
    const watch = () => {
      const [oldest] = this.#pending.keys();
      if (oldest === id)
        this.#connection.abandon(new CodecellError("cell_lost", "the cell did not answer and was killed"));
      else watchdog = setTimeout(watch, limitMs);
    };
    return new Promise<Answer>((resolve, reject) => {
      const { credit, onBytes } = extras;
      const pieces = new AnswerPieces();
      this.#pending.set(id, { kind: "request", pieces, received: 0, maxBytes, onBytes, credit, resolve, reject });
      this.#send({ ...request, id } as HostMessage, extras.body);
      watchdog = setTimeout(watch, limitMs); // started after sending, so that it covers the cell's work alone
    }).finally(() => clearTimeout(watchdog));
  }

  #send(message: HostMessage, body?: Uint8Array): void {
    this.#connection.send(this.#branch, message, body ? [body] : []);
  }

  #runHandlers(id: number): RunHandlers | undefined {
    const pending = this.#pending.get(id);
    return pending?.kind === "run" ? pending.handlers : undefined;
  }

  #onDone(message: DoneMessage): void {
    const pending = this.#pending.get(message.id);
    if (pending?.kind !== "run") return;
    this.#pending.delete(message.id);
    if (message.state === "lost") this.#freshStarts++;
    if (message.id !== rehearsalId) this.wentBackTo(message.state === "kept" ? message.id : message.recoveredTo);
    pending.credit?.close();
    this.#calls?.endRun(message.id);
    pending.handlers.onEnd?.();
    pending.resolve(this.#told(message));
  }

  /** What is left after a crash, in the session's numbers: those of the cell mean nothing to the session's callers. */
  #told<Message extends { readonly recoveredTo?: number | undefined; readonly notes: readonly string[] }>(
    message: Message,
  ): Message {
    if (message.recoveredTo === undefined) return message;
    const recoveredTo = this.numbers.ofSession(message.recoveredTo);
    return { ...message, recoveredTo, notes: [...message.notes, variablesAsAfter(recoveredTo)] };
  }

  #onData(id: number, body: Uint8Array): void {
    const pending = this.#pending.get(id);
    if (pending?.kind !== "request") return;
    pending.received += body.byteLength;
    // Stops a compromised cell from filling the host's memory.
    if (pending.received > pending.maxBytes) {
      throw new CodecellError("cell_lost", "the cell sent more than was requested");
    }
    if (pending.refusal) return;
    try {
      pending.onBytes?.(body.byteLength);
      pending.pieces.add(body);
    } catch (error) {
      pending.refusal = { error };
      pending.pieces.clear();
    }
  }

  #onReply(message: Extract<CellMessage, { t: "reply" }>): void {
    const pending = this.#pending.get(message.id);
    if (pending?.kind !== "request") return;
    this.#pending.delete(message.id);
    if (message.state) this.wentBackTo(message.recoveredTo);
    if (pending.refusal) {
      pending.reject(pending.refusal.error as Error);
      return;
    }
    if (message.ok) {
      pending.resolve({ data: pending.pieces.joined(), file: message.file });
      return;
    }
    const code = message.code === "timeout" ? "expression_failed" : (message.code ?? "internal");
    const left =
      message.recoveredTo === undefined ? [] : [variablesAsAfter(this.numbers.ofSession(message.recoveredTo))];
    const reason = message.message ?? "the kernel gave no reason";
    pending.reject(new CodecellError(code, [reason, ...left].join("; ")));
  }

  /** Why the cell, or this interpreter in it, is lost. */
  get #failure(): CodecellError | undefined {
    return this.#connection.failure ?? this.#lost;
  }

  #assertAlive(): void {
    const failure = this.#failure ?? this.#leaving;
    if (failure) throw failure;
  }
}
