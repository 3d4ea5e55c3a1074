import { randomUUID } from "node:crypto";
import { CodecellError } from "../../lib/errors.ts";
import type { Run, RunResult } from "../../sessions/runs/run.ts";
import type { NumberedEvent } from "../../sessions/runs/run-log.ts";
import type { RunOptions } from "../../sessions/runs/run-options.ts";
import { type ShapeBudget, type ShapedText, shapeStreams } from "../output/shape-output.ts";
import { type Clock, systemClock } from "./clock.ts";

type RunStatus = RunResult["status"];

/** What the registry needs of a run; a `Run` is one. */
export type FollowedRun = PromiseLike<RunResult> & Pick<Run, "log" | "interrupt">;

/** What the registry needs of a session; a `Session` is one. */
export interface RunStarter {
  readonly id: string;
  run(code: string, options: RunOptions): FollowedRun;
}

/** A run ends by `cancel` and by its limits, not by the signal of the caller that started it. */
export type RunStartOptions = Omit<RunOptions, "signal">;

/** A run by its id, and how far it is. */
export interface RunHandle {
  readonly runId: string;
  readonly sessionId: string;
  /** `failed`: codecell itself could not finish the run; `wait` and `watch` throw why */
  readonly status: RunStatus | "running" | "failed";
  /** whether `cancel` was called */
  readonly isCancelled: boolean;
  /** time since the start, or from start to end */
  readonly elapsedMs: number;
  /** how many events there are so far: where to go on watching */
  readonly nextOffset: number;
}

/** What `wait` answers when the time is up before the run is over. */
export interface StillRunning {
  readonly status: "running";
  readonly runId: string;
  readonly elapsedMs: number;
  readonly outputSoFar: ShapedText;
  /** the events after this output begin here */
  readonly nextOffset: number;
}

/** How long to wait for a run. */
export interface WaitOptions {
  /** how long to wait; absent: to the end. 0 asks and does not wait. */
  readonly timeoutMs?: number;
  /** aborting ends the waiting, not the run */
  readonly signal?: AbortSignal;
  /** for `outputSoFar`; 4,000 characters unless told */
  readonly budget?: ShapeBudget;
}

/** What a registry remembers, and how many runs it takes. */
export interface RunRegistryOptions {
  /** @internal */
  readonly clock?: Clock;
  /** how long an ended run is remembered */
  readonly keepMs?: number;
  /** how many ended runs are remembered, and what their events may take; the oldest are forgotten first */
  readonly keepRuns?: number;
  readonly keepBytes?: number;
  /** Takes a place for a run that is about to start, or throws where there is none. */
  readonly takePlace?: () => ReleasePlace;
}

/** Gives a run's place back: with how it ended, or without when it never started. */
export type ReleasePlace = (end?: RunStatus | "failed") => void;

interface Entry {
  readonly runId: string;
  readonly sessionId: string;
  readonly run: FollowedRun;
  readonly cancelling: AbortController;
  readonly startedAt: number;
  readonly ended: Promise<RunResult>;
  end: { readonly status: RunStatus | "failed"; readonly at: number } | undefined;
}

const defaultBudget: ShapeBudget = { characters: 4_000 };
const defaultGraceMs = 2_000;

/** Runs that outlive the caller that started them: waited on, watched, interrupted and cancelled by an unguessable id. */
export class RunRegistry {
  readonly #clock: Clock;
  readonly #keepMs: number;
  readonly #keepRuns: number;
  readonly #keepBytes: number;
  /** sessions in which a run is about to start, and what settles when it did or failed to */
  readonly #starting = new Map<string, Promise<void>>();
  /** Called before a run is started that `follow` then takes over. */
  readonly takePlace: () => ReleasePlace;
  readonly #running = new Map<string, Entry>();
  /** in the order of their ends */
  readonly #ended = new Map<string, Entry>();
  #endedBytes = 0;

  constructor(options: RunRegistryOptions = {}) {
    this.#clock = options.clock ?? systemClock;
    this.#keepMs = options.keepMs ?? 15 * 60_000;
    this.#keepRuns = options.keepRuns ?? 200;
    this.#keepBytes = options.keepBytes ?? 256 * 1024 * 1024;
    this.takePlace = options.takePlace ?? (() => () => {});
  }

  /** Starts a run and answers at once; what the session refuses is thrown here. */
  start(session: RunStarter, code: string, options: RunStartOptions = {}): RunHandle {
    const cancelling = new AbortController();
    return this.follow(session.id, session.run(code, { ...options, signal: cancelling.signal }), cancelling);
  }

  /** Takes over a run that was started with the signal of `cancelling`. */
  follow(
    sessionId: string,
    run: FollowedRun,
    cancelling: AbortController,
    release: ReleasePlace = () => {},
  ): RunHandle {
    this.#forgetOld();
    const entry: Entry = {
      ...{ runId: newRunId(), sessionId, run, cancelling, startedAt: this.#clock.now() },
      ended: Promise.resolve(run),
      end: undefined,
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

  /** The result, or how far it is when the time is up first. */
  async wait(runId: string, options: WaitOptions = {}): Promise<RunResult | StillRunning> {
    const entry = this.#entry(runId);
    if (options.signal?.aborted) throw aborted(options.signal);
    const timeUp = Symbol("time up");
    let stopWaiting = () => {};
    const limit = new Promise<typeof timeUp>((resolve, reject) => {
      const { timeoutMs, signal } = options;
      const callOff = timeoutMs === undefined ? () => {} : this.#clock.after(timeoutMs, () => resolve(timeUp));
      const abort = () => reject(aborted(signal));
      signal?.addEventListener("abort", abort, { once: true });
      stopWaiting = () => {
        callOff();
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

  /** Events from an offset on, past and to come, then `end`. Any number of readers; aborting ends the reading. */
  watch(runId: string, fromOffset = 0, options: { signal?: AbortSignal } = {}): AsyncIterable<NumberedEvent> {
    if (!Number.isSafeInteger(fromOffset) || fromOffset < 0) {
      throw new CodecellError("usage", `an offset must be a whole number of at least 0, not ${fromOffset}`);
    }
    return this.#entry(runId).run.log.from(fromOffset, options.signal);
  }

  /** Stops what the run does now and keeps the state; a second call ends what ignores the first. */
  interrupt(runId: string): RunHandle {
    const entry = this.#entry(runId);
    if (!entry.end) entry.run.interrupt();
    return this.#handle(entry);
  }

  /** Interrupts the run, and ends it after a grace if it goes on; `wait` tells when it is over. Twice is safe. */
  cancel(runId: string, options: { graceMs?: number } = {}): RunHandle {
    const entry = this.#entry(runId);
    if (!entry.end && !entry.cancelling.signal.aborted) {
      entry.cancelling.abort(); // the session's first interrupt, and the reason why the result says `cancelled`
      const callOff = this.#clock.after(options.graceMs ?? defaultGraceMs, () => entry.run.interrupt());
      entry.ended.then(callOff, callOff);
    }
    return this.#handle(entry);
  }

  status(runId: string): RunHandle {
    return this.#handle(this.#entry(runId));
  }

  /** Ended runs, oldest first, then running ones; of one session when asked. */
  list(options: { sessionId?: string } = {}): RunHandle[] {
    this.#forgetOld();
    const entries = [...this.#ended.values(), ...this.#running.values()];
    const isAsked = (entry: Entry) => options.sessionId === undefined || entry.sessionId === options.sessionId;
    return entries.filter(isAsked).map((entry) => this.#handle(entry));
  }

  /** Runs of a session that go on. Every run asks this first, so it does not look at those that ended. */
  running(sessionId: string): RunHandle[] {
    const entries = [...this.#running.values()].filter((entry) => entry.sessionId === sessionId);
    return entries.map((entry) => this.#handle(entry));
  }

  /** Settles when the run that is about to start in a session has started or failed to; undefined: there is none. */
  starting(sessionId: string): Promise<void> | undefined {
    return this.#starting.get(sessionId);
  }

  /** Says that a run is about to start in a session, until the answer is called. */
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
    this.#forgetOld();
    const entry = this.#running.get(runId) ?? this.#ended.get(runId);
    if (entry) return entry;
    const minutes = Math.round(this.#keepMs / 60_000);
    throw new CodecellError("run_gone", `there is no run with id ${JSON.stringify(runId.slice(0, 64))}`, {
      hint: `results are kept for ${minutes} min, and only of the last ${this.#keepRuns} runs; run the code again`,
    });
  }

  #handle(entry: Entry): RunHandle {
    const { runId, sessionId, cancelling, startedAt, end, run } = entry;
    return {
      runId,
      sessionId,
      status: end?.status ?? "running",
      isCancelled: cancelling.signal.aborted,
      elapsedMs: (end?.at ?? this.#clock.now()) - startedAt,
      nextOffset: run.log.length,
    };
  }

  #stillRunning({ runId, startedAt, run: { log } }: Entry, budget: ShapeBudget): StillRunning {
    const outputSoFar = shapeStreams({ stdout: log.text("stdout"), stderr: log.text("stderr") }, budget);
    const elapsedMs = this.#clock.now() - startedAt;
    return { status: "running", runId, elapsedMs, outputSoFar, nextOffset: log.length };
  }

  #onEnd(entry: Entry, status: RunStatus | "failed"): void {
    entry.end = { status, at: this.#clock.now() };
    this.#running.delete(entry.runId);
    this.#ended.set(entry.runId, entry);
    this.#endedBytes += entry.run.log.bytes;
    this.#forgetOld();
  }

  /** Asked on every call instead of by a timer; between calls the bounds on number and bytes hold. */
  #forgetOld(): void {
    const oldest = this.#clock.now() - this.#keepMs;
    for (const entry of this.#ended.values()) {
      // the run that ended last stays for its caller, however large
      const isOverBytes = this.#endedBytes > this.#keepBytes && this.#ended.size > 1;
      const isOver = this.#ended.size > this.#keepRuns || isOverBytes;
      if (!isOver && (entry.end?.at ?? 0) > oldest) return;
      this.#ended.delete(entry.runId);
      this.#endedBytes -= entry.run.log.bytes;
    }
  }
}

/** An id that nobody can guess. `randomUUID` has random bytes in reserve; asking the system for each id takes longer. */
function newRunId(): string {
  const random = Buffer.from(randomUUID().replaceAll("-", ""), "hex");
  return `run_${random.subarray(0, 12).toString("base64url")}`;
}

function aborted(signal: AbortSignal | undefined): CodecellError {
  return new CodecellError("aborted", "the wait was cancelled; the run is still running", { cause: signal?.reason });
}
