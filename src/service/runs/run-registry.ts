import { randomUUID } from "node:crypto";
import { CodecellError } from "../../lib/errors.ts";
import { defaultLanguage } from "../../policy/languages.ts";
import type { Language, Run, RunResult } from "../../sessions/runs/run.ts";
import type { NumberedEvent } from "../../sessions/runs/run-log.ts";
import type { RunOptions } from "../../sessions/runs/run-options.ts";
import { outputText } from "../output/output-text.ts";
import { type ShapeBudget, type ShapedText, shapeStreams } from "../output/shape-output.ts";
import { type Clock, systemClock } from "./clock.ts";
import type { LateStdin } from "./late-stdin.ts";

type RunStatus = RunResult["status"];

/** What the registry needs of a run; a `Run` is one. */
export type FollowedRun = PromiseLike<RunResult> &
  Pick<Run, "log" | "interrupt"> & { readonly number?: number | undefined };

/** What the registry needs of a session; a `Session` is one. */
export interface RunStarter {
  readonly id: string;
  run(code: string, options: RunOptions): FollowedRun;
}

/** Without `signal`: a run is stopped by `cancel` or by its limits, not by the caller that started it. */
export type RunStartOptions = Omit<RunOptions, "signal">;

/** The id and the current status of a run. */
export interface RunHandle {
  readonly runId: string;
  readonly sessionId: string;
  /** `failed`: codecell itself could not finish the run; `wait` and `watch` throw the reason */
  readonly status: RunStatus | "running" | "failed";
  /** whether `cancel` was called */
  readonly isCancelled: boolean;
  /** time since the start, or from start to end */
  readonly elapsedMs: number;
  /** the number of events so far, which is the offset to continue watching from */
  readonly nextOffset: number;
  /** its number in the session; undefined: unknown */
  readonly number: number | undefined;
  /** what it runs; undefined: unknown */
  readonly program: StartedProgram | undefined;
}

/** What a run executes. The code of a very long one is cut. */
export interface StartedProgram {
  readonly code: string;
  readonly isCodeCut: boolean;
  readonly language: Language;
}

/** What `wait` returns if the timeout passes before the run ends. */
export interface StillRunning {
  readonly status: "running";
  readonly runId: string;
  readonly elapsedMs: number;
  readonly outputSoFar: ShapedText;
  /** the offset of the first event after this output */
  readonly nextOffset: number;
}

/** How long to wait for a run. */
export interface WaitOptions {
  /** how long to wait; default: until the run ends. 0 does not wait. */
  readonly timeoutMs?: number;
  /** aborting ends the waiting, not the run */
  readonly signal?: AbortSignal;
  /** for `outputSoFar`; default: 4,000 characters */
  readonly budget?: ShapeBudget;
}

/** Limits of a registry. */
export interface RunRegistryOptions {
  /** @internal */
  readonly clock?: Clock;
  /** how long an ended run is kept */
  readonly keepMs?: number;
  /** how many ended runs are kept, and how many bytes of their events; the oldest are removed first */
  readonly keepRuns?: number;
  readonly keepBytes?: number;
  /** Acquires a slot for a run that is about to start, or throws if none is free. */
  readonly acquireSlot?: () => ReleaseSlot;
  /** end of every id */
  readonly idTag?: string;
}

/** Releases the slot of a run, with the status it ended with, or with none if it never started. */
export type ReleaseSlot = (end?: RunStatus | "failed") => void;

/** What the registry is told about a run that it takes over. */
export interface FollowOptions {
  readonly release?: ReleaseSlot;
  readonly stdin?: LateStdin | undefined;
  readonly program?: StartedProgram;
}

interface Entry {
  readonly runId: string;
  readonly sessionId: string;
  readonly run: FollowedRun;
  readonly cancelling: AbortController;
  readonly startedAt: number;
  readonly ended: Promise<RunResult>;
  readonly stdin: LateStdin | undefined;
  readonly program: StartedProgram | undefined;
  end: { readonly status: RunStatus | "failed"; readonly at: number } | undefined;
}

const defaultBudget: ShapeBudget = { characters: 4_000 };
const defaultGraceMs = 2_000;
/** in characters; the whole code is in the history when the run has ended */
const mostCode = 16 * 1024;

/** Runs that outlive their caller. Anybody with the unguessable id can wait for, watch, interrupt and cancel a run. */
export class RunRegistry {
  readonly #clock: Clock;
  readonly #keepMs: number;
  readonly #keepRuns: number;
  readonly #keepBytes: number;
  /** by session id: settles when the run that is about to start has started or failed to start */
  readonly #starting = new Map<string, Promise<void>>();
  /** Must be called before starting a run for `follow`. */
  readonly acquireSlot: () => ReleaseSlot;
  readonly #running = new Map<string, Entry>();
  /** ordered by when they ended */
  readonly #ended = new Map<string, Entry>();
  #endedBytes = 0;

  readonly #idTag: string;

  constructor(options: RunRegistryOptions = {}) {
    this.#clock = options.clock ?? systemClock;
    this.#keepMs = options.keepMs ?? 15 * 60_000;
    this.#keepRuns = options.keepRuns ?? 200;
    this.#keepBytes = options.keepBytes ?? 256 * 1024 * 1024;
    this.acquireSlot = options.acquireSlot ?? (() => () => {});
    this.#idTag = options.idTag ?? "";
  }

  /** Starts a run and returns at once. Throws if the session refuses the run. */
  start(session: RunStarter, code: string, options: RunStartOptions = {}): RunHandle {
    const cancelling = new AbortController();
    const run = session.run(code, { ...options, signal: cancelling.signal });
    return this.follow(session.id, run, cancelling, { program: programOf(code, options.language) });
  }

  /** Takes over a run that was started with the signal of `cancelling`. */
  follow(
    sessionId: string,
    run: FollowedRun,
    cancelling: AbortController,
    { release = () => {}, stdin, program }: FollowOptions = {},
  ): RunHandle {
    this.#removeOld();
    const entry: Entry = {
      ...{ runId: newRunId(this.#idTag), sessionId, run, cancelling, startedAt: this.#clock.now() },
      ended: Promise.resolve(run),
      ...{ stdin, program, end: undefined },
    };
    this.#running.set(entry.runId, entry);
    const ended = (status: RunStatus | "failed") => {
      release(status);
      this.#onEnd(entry, status);
    };
    entry.ended.then(
      (result) => ended(result.status),
      () => ended("failed"),
    );
    return this.#handle(entry);
  }

  /** The result, or the output so far if the timeout passes first. */
  async wait(runId: string, options: WaitOptions = {}): Promise<RunResult | StillRunning> {
    const entry = this.#entry(runId);
    if (options.signal?.aborted) throw aborted(options.signal);
    const timeUp = Symbol("time up");
    let stopWaiting = () => {};
    const limit = new Promise<typeof timeUp>((resolve, reject) => {
      const { timeoutMs, signal } = options;
      const stopTimer = timeoutMs === undefined ? () => {} : this.#clock.after(timeoutMs, () => resolve(timeUp));
      const abort = () => reject(aborted(signal));
      signal?.addEventListener("abort", abort, { once: true });
      stopWaiting = () => {
        stopTimer();
        signal?.removeEventListener("abort", abort);
      };
    });
    try {
      const first = await Promise.race([entry.ended, limit]);
      return first === timeUp ? this.#stillRunning(entry, options.budget ?? defaultBudget) : first;
    } finally {
      stopWaiting();
    }
  }

  /** Past and future events from an offset, then `end`. There can be any number of readers; aborting stops only this one. */
  watch(runId: string, fromOffset = 0, options: { signal?: AbortSignal } = {}): AsyncIterable<NumberedEvent> {
    if (!Number.isSafeInteger(fromOffset) || fromOffset < 0) {
      throw new CodecellError("usage", `an offset must be a whole number of at least 0, not ${fromOffset}`);
    }
    return this.#entry(runId).run.log.from(fromOffset, options.signal);
  }

  /** Interrupts the run and keeps the state. A second call kills code that ignores the first. */
  interrupt(runId: string): RunHandle {
    const entry = this.#entry(runId);
    if (!entry.end) entry.run.interrupt();
    return this.#handle(entry);
  }

  /** Interrupts the run, and again after a grace period. Use `wait` to learn when it has ended. Calling it twice is safe. */
  cancel(runId: string, options: { graceMs?: number } = {}): RunHandle {
    const entry = this.#entry(runId);
    if (!entry.end && !entry.cancelling.signal.aborted) {
      entry.cancelling.abort(); // the session sends the first interrupt and reports the status `cancelled`
      const stopTimer = this.#clock.after(options.graceMs ?? defaultGraceMs, () => entry.run.interrupt());
      entry.ended.then(stopTimer, stopTimer);
    }
    return this.#handle(entry);
  }

  /** The standard input of a run that gets it from a later call; undefined: the run was started without that. */
  lateStdin(runId: string): LateStdin | undefined {
    return this.#entry(runId).stdin;
  }

  /** What a run has printed so far, as far as it is kept. */
  printed(runId: string): { readonly stdout: string; readonly stderr: string } {
    const { log } = this.#entry(runId).run;
    return { stdout: log.text("stdout"), stderr: log.text("stderr") };
  }

  status(runId: string): RunHandle {
    return this.#handle(this.#entry(runId));
  }

  /** Ended runs, oldest first, then running ones; optionally of one session only. */
  list(options: { sessionId?: string } = {}): RunHandle[] {
    this.#removeOld();
    const entries = [...this.#ended.values(), ...this.#running.values()];
    const isIncluded = (entry: Entry) => options.sessionId === undefined || entry.sessionId === options.sessionId;
    return entries.filter(isIncluded).map((entry) => this.#handle(entry));
  }

  /** The running runs of a session. Every run calls this first, so it skips ended runs to stay fast. */
  running(sessionId: string): RunHandle[] {
    const entries = [...this.#running.values()].filter((entry) => entry.sessionId === sessionId);
    return entries.map((entry) => this.#handle(entry));
  }

  /** Settles when the run that is about to start in a session has started or failed to start; undefined if there is none. */
  starting(sessionId: string): Promise<void> | undefined {
    return this.#starting.get(sessionId);
  }

  /** Marks a session as about to start a run, until the returned function is called. */
  claim(sessionId: string): () => void {
    let settle = () => {};
    const started = new Promise<void>((resolve) => {
      settle = resolve;
    });
    this.#starting.set(sessionId, started);
    return () => {
      this.#starting.delete(sessionId);
      settle();
    };
  }

  #entry(runId: string): Entry {
    this.#removeOld();
    const entry = this.#running.get(runId) ?? this.#ended.get(runId);
    if (entry) return entry;
    const minutes = Math.round(this.#keepMs / 60_000);
    throw new CodecellError("run_gone", `there is no run with id ${JSON.stringify(runId.slice(0, 64))}`, {
      hint: `results are kept for ${minutes} min, and only of the last ${this.#keepRuns} runs; run the code again`,
    });
  }

  #handle(entry: Entry): RunHandle {
    const { runId, sessionId, cancelling, startedAt, end, run, program } = entry;
    return {
      runId,
      sessionId,
      status: end?.status ?? "running",
      isCancelled: cancelling.signal.aborted,
      elapsedMs: (end?.at ?? this.#clock.now()) - startedAt,
      nextOffset: run.log.length,
      number: run.number,
      program,
    };
  }

  #stillRunning({ runId, startedAt, run: { log } }: Entry, budget: ShapeBudget): StillRunning {
    const stdout = outputText({ stdout: log.text("stdout"), displays: log.displays(), value: undefined });
    const outputSoFar = shapeStreams({ stdout, stderr: log.text("stderr") }, budget);
    const elapsedMs = this.#clock.now() - startedAt;
    return { status: "running", runId, elapsedMs, outputSoFar, nextOffset: log.length };
  }

  #onEnd(entry: Entry, status: RunStatus | "failed"): void {
    entry.end = { status, at: this.#clock.now() };
    this.#running.delete(entry.runId);
    this.#ended.set(entry.runId, entry);
    this.#endedBytes += entry.run.log.bytes;
    this.#removeOld();
  }

  /** Runs on every call instead of on a timer. Between calls, `keepRuns` and `keepBytes` bound the memory. */
  #removeOld(): void {
    const oldest = this.#clock.now() - this.#keepMs;
    for (const entry of this.#ended.values()) {
      // keep the last run for its caller, whatever its size
      const isOverBytes = this.#endedBytes > this.#keepBytes && this.#ended.size > 1;
      const isOver = this.#ended.size > this.#keepRuns || isOverBytes;
      if (!isOver && (entry.end?.at ?? 0) > oldest) return;
      this.#ended.delete(entry.runId);
      this.#endedBytes -= entry.run.log.bytes;
    }
  }
}

/** Pure: what is kept of a program for who looks at its run. */
export function programOf(code: string, language: Language = defaultLanguage): StartedProgram {
  const isCodeCut = code.length > mostCode;
  return { code: isCodeCut ? code.slice(0, mostCode) : code, isCodeCut, language };
}

/** An unguessable id. `randomUUID` buffers random bytes, so it is faster than `randomBytes`. */
function newRunId(tag: string): string {
  const random = Buffer.from(randomUUID().replaceAll("-", ""), "hex");
  return `run_${random.subarray(0, 12).toString("base64url")}${tag}`;
}

function aborted(signal: AbortSignal | undefined): CodecellError {
  return new CodecellError("aborted", "the wait was cancelled; the run is still running", { cause: signal?.reason });
}
