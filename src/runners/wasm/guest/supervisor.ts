import { performance } from "node:perf_hooks";
import process from "node:process";
import { Channel, type IncomingFrame, parseHeader } from "./channel.ts";
import { IncomingValue, IncomingValues } from "./incoming-values.ts";
import { InterpreterThread, type ThreadEnd } from "./interpreter-thread.ts";
import { OpenCalls } from "./open-calls.ts";
import { tailBytes } from "./output-tail.ts";
import type { GuestReport } from "./report.ts";
import { isAboutFiles, isTransfer, type Request, requestOf, wholeRequest } from "./requests.ts";
import { answeredRun, lostRun, type RunCounts, type StopReason } from "./run-end.ts";
import { RunTimer } from "./run-timer.ts";
import { pageBytes } from "./wasm-memory.ts";

export interface SupervisorOptions {
  readonly runtime: string;
  /** directory of packages for /deps */
  readonly packages?: string | undefined;
  readonly memoryPages: number;
  readonly diskBytes: number;
  readonly openFiles: number;
  /** how much this process may grow after the interpreter has started, before the interpreter is killed */
  readonly growthBytes: number;
  readonly usesSnapshot: boolean;
  /** writes to the log, which the program inside never sees */
  log(line: string): void;
  report(report: GuestReport): void;
}

interface Active {
  readonly request: Request;
  readonly timer: RunTimer | undefined;
  /** how many of the printed bytes are sent at the end */
  readonly tailBytes: number;
  /** number of printed bytes after which the run is stopped */
  readonly floodBytes: number;
  /** CPU time of this process at the start of the request */
  readonly cpuBeforeUs: number;
  stop: StopReason | undefined;
  /** when to tell the host again how much output is held back, by the clock of `performance` */
  heldDueMs: number;
  /** its code has received an interrupt */
  hasNoticed: boolean;
}

/** features beyond runs and variables: variables as bytes, changed files in results, files over the channel, host functions */
const features = ["snapshot", "changes", "files", "calls"];
const graceMs = 500;
const watchMs = 50;
const heldMs = 1_000;
const floodBytes = 64 * 1024 * 1024;
/** how much standard input the host may send before the program has read it */
const stdinWindowBytes = 1024 * 1024;
const ignoredNote = "The code did not react to the interrupt.";
/** What is true of the new interpreter. The host adds what it has put back since, which this side cannot know. */
const lostNote = "A new interpreter was started, at first without variables, modules and files.";

/** The supervisor of a cell without processes. It owns the channel, never runs user code, and answers while user code is stuck. */
export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #channel: Channel;
  readonly #values: IncomingValues;
  readonly #queue: (Request | IncomingValue)[] = [];
  #thread: InterpreterThread;
  #usesSnapshot: boolean;
  #start: Request | undefined;
  #active: Active | undefined;
  #phase: "loading" | "greeted" | "serving" = "loading";
  #hasGreeted = false;
  /** a run whose interrupt arrived before the run itself */
  #interruptedEarly: number | undefined;
  readonly #calls = new OpenCalls();
  /** the functions of the host; a new interpreter gets them before its next run */
  #exposed: Request | undefined;
  #threadHas: Request | undefined;
  /** resident memory above which the interpreter is killed */
  #residentLimit = Number.POSITIVE_INFINITY;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.#usesSnapshot = options.usesSnapshot;
    this.#channel = new Channel(
      (frame) => this.#onFrame(frame),
      () => this.#thread.drain(),
    );
    this.#values = new IncomingValues(
      options.memoryPages * pageBytes,
      (message) => this.#channel.send(message),
      () => this.#next(),
    );
    this.#thread = this.#startThread();
    setInterval(() => this.#watch(), watchMs);
  }

  #startThread(): InterpreterThread {
    this.#phase = "loading";
    const { runtime, memoryPages, diskBytes, openFiles, packages } = this.#options;
    const input = { runtime, memoryPages, diskBytes, openFiles, packages, usesSnapshot: this.#usesSnapshot };
    return new InterpreterThread(input, {
      loaded: (python) => this.#onLoaded(python),
      failed: (reason) => this.#onFailed(reason),
      output: (stream, bytes) => {
        const run = this.#active?.request;
        if (run?.kind === "run") this.#channel.send({ t: "out", id: run.id, stream }, bytes);
      },
      message: (header, body) => this.#onMessage(header, body),
      read: (run, bytes) => {
        if (this.#active?.request.id === run) this.#channel.send({ t: "credit", id: run, bytes });
      },
      taken: (bytes) => {
        const credit = this.#calls.taken(bytes);
        if (credit > 0) this.#channel.send({ t: "call.credit", bytes: credit });
      },
      ended: (end) => this.#onEnded(end),
      isOpen: () => this.#channel.isOpen,
    });
  }

  #onLoaded(python: string): void {
    this.#phase = "greeted";
    this.#residentLimit = process.memoryUsage.rss() + this.#options.growthBytes;
    if (!this.#hasGreeted) this.#channel.send({ t: "hello", protocol: 1, python, languages: ["python"], features });
    this.#hasGreeted = true;
    if (this.#start !== undefined) this.#begin(this.#start);
  }

  #onFailed(reason: string): void {
    if (!this.#usesSnapshot) {
      this.#options.log(`the interpreter did not load: ${reason}`);
      process.exit(72);
    }
    this.#options.report({ report: "snapshot_refused", reason });
    this.#usesSnapshot = false;
    void this.#replaceThread();
  }

  #onFrame({ header, body }: IncomingFrame): void {
    const id = typeof header.id === "number" ? header.id : 0;
    if (header.t === "interrupt") this.#interrupt(id);
    else if (isTransfer(header)) this.#enqueue(this.#values.begin(id, header));
    else if (header.t === "data") this.#values.add(id, body);
    else if (header.t === "in") this.#onInput(id, body, header.end === true);
    else if (header.t === "answer") this.#onAnswer(id, header, body);
    else if (header.t === "expose") this.#onExpose(id, header, body);
    else {
      const request = requestOf(header, body);
      if (request?.kind === "start") this.#onStart(request);
      else this.#enqueue(request);
    }
  }

  /** Standard input of a run that has ended is dropped: its program did not read it. */
  #onInput(id: number, body: Uint8Array, isLast: boolean): void {
    if (this.#active?.request.id !== id) return;
    if (body.length > 0) this.#thread.stdin.send(id, new Uint8Array(body));
    if (isLast) this.#thread.stdin.send(id, undefined);
  }

  #onExpose(id: number, header: Readonly<Record<string, unknown>>, body: Uint8Array): void {
    this.#exposed = wholeRequest(header, new Uint8Array(body));
    this.#channel.send({ t: "reply", id, ok: true });
  }

  /** An answer to a call of a run that has ended is dropped: nobody waits for it. */
  #onAnswer(run: number, header: Readonly<Record<string, unknown>>, body: Uint8Array): void {
    const active = this.#active;
    if (active?.request.id !== run) {
      this.#channel.send({ t: "call.credit", bytes: body.length });
      return;
    }
    this.#calls.answered(header, body.length);
    if (this.#calls.size === 0) active.timer?.resume();
    this.#thread.answers.send(run, Buffer.from(JSON.stringify(header)), new Uint8Array(body));
  }

  #onStart(request: Request): void {
    this.#start = request;
    if (this.#phase === "greeted") this.#begin(request);
  }

  #enqueue(request: Request | IncomingValue | undefined): void {
    if (request === undefined) return;
    if (isRun(request) && request.id === this.#interruptedEarly) {
      this.#answerUnbegun(request.id);
      return;
    }
    this.#queue.push(request);
    this.#next();
  }

  #next(): void {
    if (this.#active !== undefined || this.#phase !== "serving") return;
    const first = this.#queue[0];
    if (first === undefined || (first instanceof IncomingValue && !first.isComplete)) return;
    this.#queue.shift();
    this.#begin(first instanceof IncomingValue ? first.request() : first);
  }

  #begin(request: Request): void {
    const outputBytes = Number(request.header.outputBytes) || 0;
    // Preloads have no timeout here, because the host gives up on a cell that is not ready in time.
    const hostWaitMs = Number(request.header.hostWaitMs) || 0;
    const stop = () => this.#stop("timeout");
    const timer = request.kind === "start" ? undefined : new RunTimer(request.timeoutMs, hostWaitMs, stop);
    const { user, system } = process.cpuUsage();
    this.#active = {
      request,
      timer,
      cpuBeforeUs: user + system,
      tailBytes: tailBytes(outputBytes),
      floodBytes: Math.max(floodBytes, 16 * outputBytes),
      stop: undefined,
      hasNoticed: false,
      heldDueMs: 0,
    };
    this.#thread.clearInterrupt();
    this.#thread.tail.begin();
    this.#thread.counters.begin(request.kind === "run" ? outputBytes - tailBytes(outputBytes) : 0);
    this.#calls.clear();
    if (request.kind === "run") this.#exposeTo(request.id);
    const [header, body] = [JSON.stringify(request.header), copyOf(request)];
    if (isAboutFiles(request)) this.#thread.post({ kind: "file", header, body });
    else {
      const hasStdin = takesStdin(request);
      this.#thread.post({ kind: "dispatch", id: request.id, header, body, hasStdin });
      if (hasStdin) this.#channel.send({ t: "credit", id: request.id, bytes: stdinWindowBytes });
    }
  }

  #exposeTo(run: number): void {
    const exposed = this.#exposed;
    if (exposed === undefined || exposed === this.#threadHas) return;
    this.#threadHas = exposed;
    const body = exposed.body && new Uint8Array(exposed.body);
    this.#thread.post({ kind: "dispatch", id: run, header: JSON.stringify(exposed.header), body, hasStdin: false });
  }

  /** The first interrupt keeps the state. The second kills an interpreter that ignored the first. */
  #interrupt(id: number): void {
    if (this.#active?.request.id === id) {
      if (this.#active.stop === "interrupted") void this.#killThread("interrupted", ignoredNote);
      this.#active.stop ??= "interrupted";
      this.#thread.interrupt(id);
      this.#repeatUnnoticed(this.#active);
      return;
    }
    const at = this.#queue.findIndex((request) => isRun(request) && request.id === id);
    if (at < 0) {
      this.#interruptedEarly = id;
      return;
    }
    this.#queue.splice(at, 1);
    this.#answerUnbegun(id);
  }

  /** Repeats an interrupt that had no effect because it arrived between two requests. Code that received it is left alone. */
  #repeatUnnoticed(active: Active, afterMs = graceMs): void {
    setTimeout(() => {
      if (this.#active === active && !active.hasNoticed) this.#thread.interrupt(active.request.id);
    }, afterMs);
  }

  #answerUnbegun(id: number): void {
    const fields = { status: "interrupted", notes: ["The run was interrupted before it started."] };
    this.#channel.send(answeredRun(id, fields, undefined, { stdoutBytes: 0, stderrBytes: 0 }));
  }

  /** Interrupts the run, waits a short time in which the state survives, then kills the thread. */
  #stop(reason: "timeout" | "output_limit"): void {
    const active = this.#active;
    if (active === undefined || active.stop === "timeout" || active.stop === "output_limit") return;
    active.stop = reason;
    this.#thread.interrupt(active.request.id);
    const untilKillMs = Number(active.request.header.graceMs) || graceMs;
    this.#repeatUnnoticed(active, untilKillMs / 2);
    setTimeout(() => {
      if (this.#active !== active) return;
      void this.#killThread(reason, ignoredNote);
    }, untilKillMs);
  }

  async #killThread(status: string, note: string): Promise<void> {
    if (this.#phase === "loading") return;
    this.#phase = "loading";
    await this.#thread.kill();
    this.#lose(status, note);
    await this.#replaceThread();
  }

  #onMessage(text: string, body: Uint8Array): void {
    const active = this.#active;
    const header = parseHeader(text);
    if (active === undefined || header === undefined) return;
    const { request } = active;
    // A thread that is killed may have said that its request ended well. Its variables are lost all the same.
    const isKilled = this.#phase === "loading";
    if (isKilled && (header.t === "done" || header.t === "reply")) return;
    if (request.kind === "start") this.#onStarted(header);
    else if (header.id !== request.id) return;
    else if (header.t === "noticed") active.hasNoticed = true;
    else if (header.t === "call" && request.kind === "run") this.#onCall(active, header, body);
    else if (header.t === "call.drop" && request.kind === "run") this.#onDrop(active, header.call);
    else if (header.t === "display" && request.kind === "run") this.#channel.send(header, body);
    else if (header.t === "data" && request.kind !== "run") this.#channel.send({ t: "data", id: request.id }, body);
    else if (header.t === "done" && request.kind === "run") {
      // a run can print its flood and end between two looks of the watch
      if (this.#isFlood(active) && active.stop !== "timeout") active.stop = "output_limit";
      this.#sendTail(active);
      this.#finish(answeredRun(request.id, header, active.stop, this.#counts(active)));
    } else if (header.t === "reply" && request.kind !== "run") {
      const isLate = active.stop === "timeout" && header.ok !== true;
      this.#finish(isLate ? { ...header, code: "timeout", message: "the request timed out" } : header);
    }
  }

  #onCall({ request, timer }: Active, header: Readonly<Record<string, unknown>>, body: Uint8Array): void {
    const call = this.#calls.begun(request.id, header, body);
    if (call === undefined) return;
    timer?.pause();
    this.#channel.send(call, body);
  }

  #onDrop({ request: { id }, timer }: Active, call: unknown): void {
    if (!this.#calls.dropped(call)) return;
    this.#channel.send({ t: "call.drop", id, call });
    if (this.#calls.size === 0) timer?.resume();
  }

  #onStarted(header: Readonly<Record<string, unknown>>): void {
    const isFirst = this.#start !== undefined && this.#start.header.restarted !== true;
    if (header.t === "failed") {
      if (isFirst) this.#finish(header);
      else process.exit(73);
      return;
    }
    if (header.t !== "ready") return;
    this.#phase = "serving";
    if (isFirst && this.#start !== undefined) {
      this.#start = { ...this.#start, header: { ...this.#start.header, restarted: true } };
      this.#finish({ t: "ready" });
    } else this.#finish(undefined);
  }

  #finish(message: Readonly<Record<string, unknown>> | undefined): void {
    this.#active?.timer?.clear();
    this.#active = undefined;
    this.#thread.counters.end();
    this.#thread.clearInterrupt();
    if (message !== undefined) this.#channel.send(message);
    this.#next();
  }

  /** The interpreter exited on its own: `os._exit`, a crash, too deep a recursion, or out of memory. */
  #onEnded(end: ThreadEnd): void {
    if (this.#phase === "loading") {
      this.#onFailed(end.reason);
      return;
    }
    this.#phase = "loading";
    this.#lose(
      end.why,
      end.why === "out_of_memory" ? "The interpreter ran out of memory." : "The interpreter crashed.",
    );
    void this.#replaceThread();
  }

  /** The end of the output of a run that printed more than was sent. */
  #sendTail({ request: { id }, tailBytes }: Active): void {
    for (const { stream, skipped, bytes } of this.#thread.tail.parts(tailBytes)) {
      this.#channel.send({ t: "out", id, stream, ...(skipped > 0 ? { skipped } : {}) }, bytes);
    }
  }

  /** Waits for the old thread to exit, because two interpreters at once would need twice the memory. */
  async #replaceThread(): Promise<void> {
    await this.#thread.kill();
    this.#threadHas = undefined;
    this.#thread = this.#startThread();
  }

  /** Reports what was lost, whatever request was active. */
  #lose(status: string, note: string): void {
    const active = this.#active;
    this.#active = undefined;
    active?.timer?.clear();
    const notes = [note, lostNote];
    if (active?.request.kind === "run") {
      this.#sendTail(active);
      this.#channel.send(lostRun(active.request.id, status, notes, this.#counts(active)));
      return;
    }
    if (active?.request.kind === "start") {
      if (active.request.header.restarted === true) process.exit(73);
      this.#start = undefined;
      this.#channel.send({ t: "failed", reason: note });
      return;
    }
    // First, so that the host can restore variables before the caller gets the reply and uses them.
    this.#channel.send({ t: "lost", state: "lost", notes });
    if (active !== undefined) {
      const code = status === "timeout" ? "timeout" : "cell_lost";
      this.#channel.send({ t: "reply", id: active.request.id, ok: false, code, message: note });
    }
  }

  #counts({ cpuBeforeUs }: Active): RunCounts {
    const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
    return {
      ...{ stdoutBytes: this.#thread.counters.stdout, stderrBytes: this.#thread.counters.stderr },
      ...{ cpuUs: userCPUTime + systemCPUTime - cpuBeforeUs, peakBytes: maxRSS * 1024 },
    };
  }

  /** Limits memory outside the WebAssembly heap (files, JavaScript arrays), which has no limit of its own. */
  #watch(): void {
    if (this.#phase === "loading") return;
    if (process.memoryUsage.rss() > this.#residentLimit) {
      void this.#killThread("out_of_memory", "The interpreter exceeded its memory limit.");
      return;
    }
    if (this.#active !== undefined && this.#isFlood(this.#active)) this.#stop("output_limit");
    this.#tellHeld(performance.now());
  }

  #isFlood({ floodBytes }: Active): boolean {
    const { stdout, stderr } = this.#thread.counters;
    return stdout + stderr > floodBytes;
  }

  /** Once a second, so that the host can say why nothing more appears. */
  #tellHeld(now: number): void {
    const active = this.#active;
    const bytes = this.#thread.tail.bytes;
    if (active?.request.kind !== "run" || bytes === 0 || now < active.heldDueMs) return;
    active.heldDueMs = now + heldMs;
    this.#channel.send({ t: "held", id: active.request.id, bytes });
  }
}

function isRun(request: Request | IncomingValue): request is Request {
  return !(request instanceof IncomingValue) && request.kind === "run";
}

function takesStdin({ kind, header }: Request): boolean {
  const program = header.program as { stdin?: unknown } | undefined;
  return kind === "run" && program?.stdin === true;
}

/** A body is transferred to the thread, so the start message, which is kept for the next thread, must be copied. */
function copyOf(request: Request): Uint8Array | undefined {
  return request.kind === "start" ? undefined : request.body;
}
