import type { Artifact, LeftOut } from "../../artifacts/artifact.ts";
import type { RunError, RunState, RunStatus } from "../../kernel/messages.ts";
import type { Language } from "../../policy/languages.ts";
import type { EnforcementReceipt } from "../../runners/receipt.ts";
import type { RunEgress } from "../network/egress-record.ts";
import { RunLog } from "./run-log.ts";

export type { Language, RunError, RunState, RunStatus };

/** What happens while a run is running, in order. */
export type RunEvent =
  | { readonly type: "stdout" | "stderr"; readonly text: string }
  /** one form of a displayed value; forms of the same value share `display` */
  | {
      readonly type: "display";
      readonly display: number;
      readonly mime: string;
      readonly data: Uint8Array;
      /** how many characters the program had printed to stdout before it */
      readonly stdoutOffset?: number;
    };

/** One form of a displayed value: an image, a table, HTML. */
export type DisplayEvent = Extract<RunEvent, { type: "display" }>;

/**
 * What a run used. Processor time and memory are reported by the cell. A program that breaks out of the interpreter can forge
 * them, so the host limits both to what this machine has. The host measures the rest itself.
 */
export interface RunUsage {
  /** of the interpreter, its threads and the child processes that it waited for; undefined: it was killed, or unknown */
  readonly cpuMs: number | undefined;
  /** largest resident size of the interpreter's process since it started, not of this run alone; undefined: as above */
  readonly peakMemoryBytes: number | undefined;
  /** from the call to the result, the same as `durationMs` */
  readonly wallMs: number;
  /** through the proxy; 0 if the policy opens no network */
  readonly sentBytes: number;
  readonly receivedBytes: number;
}

/** How a run ended, and everything it produced. */
export interface RunResult {
  /** its number in the session, as the history counts */
  readonly id: number;
  readonly status: RunStatus;
  /** what is left of the interpreter's state after this run */
  readonly state: RunState;
  /** exit code of the program, if it has one */
  readonly exitCode: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
  /** repr of the last expression's value */
  readonly value: string | undefined;
  readonly error: RunError | undefined;
  /** the line of its code that was running when it timed out or was interrupted; absent: unknown */
  readonly stoppedAtLine?: number;
  readonly displays: readonly DisplayEvent[];
  /** whether output or value was truncated; the true sizes are beside it */
  readonly truncated: boolean;
  readonly stdoutBytes: number;
  readonly stderrBytes: number;
  /** how much of each is missing; a line in its middle says so, between its beginning and its end */
  readonly leftOutBytes: { readonly stdout: number; readonly stderr: number };
  /** what was lost, ended or limited, one sentence each */
  readonly notes: readonly string[];
  /** after a recovery: the run whose final state was restored; 0 is the fresh interpreter */
  readonly recoveredTo: number | undefined;
  /** files that the run created or changed, as the host found them */
  readonly artifacts: readonly Artifact[];
  /** changed files that are not artifacts, and why; at most 100, and first those that tools on the host would obey */
  readonly leftOut: readonly LeftOut[];
  /** how many there are; absent: `leftOut` has all of them */
  readonly leftOutCount?: number;
  /** @internal files that it wrote in a cell whose files nobody reads on the host */
  readonly discarded?: readonly string[];
  /** hosts that the run reached and hosts that were denied; only if the policy opens the network */
  readonly egress?: RunEgress;
  readonly durationMs: number;
  readonly usage: RunUsage;
  readonly runner: string;
  readonly receipt: EnforcementReceipt;
}

/** How the work behind a run reports back to it. @internal */
export interface RunProgress {
  /** the log of the run's events */
  readonly log: RunLog;
  /** The run has this number in its session. */
  numbered(number: number): void;
  /** The session accepted the code; from now on `interrupt` works. */
  accepted(interrupt: () => void): void;
}

/**
 * One execution: a promise of its result and an async iterable of its events, for any number of readers. It settles even
 * if nobody reads it.
 */
export class Run implements Promise<RunResult>, AsyncIterable<RunEvent>, AsyncDisposable {
  readonly [Symbol.toStringTag] = "Run";
  /** Its events by number, for readers that reconnect. */
  readonly log = new RunLog();
  readonly #result: Promise<RunResult>;
  #number: number | undefined;
  #interrupt: (() => void) | undefined;
  #isInterruptedEarly = false;
  #hasEnded = false;
  #onAccepted: (() => void) | undefined;

  /** @internal `perform` is called at once, and starts the work without an await if it can. */
  constructor(perform: (progress: RunProgress) => Promise<RunResult>) {
    const progress: RunProgress = {
      log: this.log,
      numbered: (number) => {
        this.#number = number;
      },
      accepted: (interrupt) => {
        this.#interrupt = interrupt;
        if (this.#isInterruptedEarly) interrupt();
        this.#onAccepted?.();
      },
    };
    this.#result = this.#settle(perform, progress);
    this.#result.catch(() => {}); // a failure that nobody awaits is no unhandled rejection
  }

  /** @internal its number in the session, as the history counts; undefined: it waits for its turn */
  get number(): number | undefined {
    return this.#number;
  }

  async #settle(perform: (progress: RunProgress) => Promise<RunResult>, progress: RunProgress): Promise<RunResult> {
    try {
      const result = await perform(progress);
      this.#hasEnded = true;
      this.log.end(result.status);
      return result;
    } catch (error) {
      this.#hasEnded = true;
      this.log.fail(error);
      throw error;
    }
  }

  // biome-ignore lint/suspicious/noThenProperty: a run is a promise of its result
  then<Kept = RunResult, Failed = never>(
    onKept?: ((result: RunResult) => Kept | PromiseLike<Kept>) | null,
    onFailed?: ((error: unknown) => Failed | PromiseLike<Failed>) | null,
  ): Promise<Kept | Failed> {
    return this.#result.then(onKept, onFailed);
  }

  catch<Failed = never>(
    onFailed?: ((error: unknown) => Failed | PromiseLike<Failed>) | null,
  ): Promise<RunResult | Failed> {
    return this.#result.catch(onFailed);
  }

  finally(onSettled?: (() => void) | null): Promise<RunResult> {
    return this.#result.finally(onSettled);
  }

  /** @internal Settles when the session has accepted the code; rejects if it refuses. */
  async accepted(): Promise<void> {
    if (this.#interrupt !== undefined) return;
    const accepted = new Promise<void>((resolve) => {
      this.#onAccepted = resolve;
    });
    await Promise.race([accepted, this.#result]);
  }

  /** Stops the run and keeps the state. A second call kills code that ignores the first. */
  interrupt(): void {
    if (this.#hasEnded) return;
    if (this.#interrupt) this.#interrupt();
    else this.#isInterruptedEarly = true;
  }

  /** Interrupts the run if it is still running, and waits for its end. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.interrupt();
    await this.#result.catch(() => {});
  }

  /** All events, from the first one. If codecell itself failed, the error is thrown at the end. */
  async *[Symbol.asyncIterator](): AsyncGenerator<RunEvent> {
    for await (const { event } of this.log.from(0)) if (event.type !== "end") yield event;
  }
}
