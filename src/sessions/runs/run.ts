import type { Artifact, LeftOut } from "../../artifacts/artifacts.ts";
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
  | { readonly type: "display"; readonly display: number; readonly mime: string; readonly data: Uint8Array };

/** One form of a displayed value: an image, a table, HTML. */
export type DisplayEvent = Extract<RunEvent, { type: "display" }>;

/**
 * What a run used. The cell tells its processor time and memory: a program that breaks out of the interpreter can make them
 * up, so the host bounds both by what this machine has. It measures the rest itself.
 */
export interface RunUsage {
  /** of the interpreter, its threads and the child processes that it waited for; undefined: it was killed, or cannot tell */
  readonly cpuMs: number | undefined;
  /** largest resident size of the interpreter's process since it started, not of this run alone; undefined: as above */
  readonly peakMemoryBytes: number | undefined;
  /** from the call to the result, the same as `durationMs` */
  readonly wallMs: number;
  /** through the proxy; 0 where the policy gives no network */
  readonly sentBytes: number;
  readonly receivedBytes: number;
}

/** How a run ended, and everything it produced. */
export interface RunResult {
  readonly id: number;
  readonly status: RunStatus;
  /** what is left of the interpreter's state after this run */
  readonly state: RunState;
  /** exit code of the program, where it has one */
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
  /** what was lost or ended, one sentence each */
  readonly notes: readonly string[];
  /** after a recovery: the run whose end state came back; 0 is the fresh interpreter */
  readonly recoveredTo: number | undefined;
  /** files that the run created or changed, as the host found them */
  readonly artifacts: readonly Artifact[];
  /** changed files that are no artifacts and why */
  readonly leftOut: readonly LeftOut[];
  /** hosts that the run reached or was refused; only where the policy opens the network */
  readonly egress?: RunEgress;
  readonly durationMs: number;
  readonly usage: RunUsage;
  readonly runner: string;
  readonly receipt: EnforcementReceipt;
}

/** How the work behind a run reports back to it. @internal */
export interface RunProgress {
  /** where the run's events are written, once */
  readonly log: RunLog;
  /** The session takes the code, and `interrupt` reaches it from now on. */
  accepted(interrupt: () => void): void;
}

/**
 * One execution: a promise of its result and an async iterable of its events, for any number of readers. It settles even
 * if nobody reads it.
 */
export class Run implements Promise<RunResult>, AsyncIterable<RunEvent>, AsyncDisposable {
  readonly [Symbol.toStringTag] = "Run";
  /** Its events by number, for readers that come back. */
  readonly log = new RunLog();
  readonly #result: Promise<RunResult>;
  #interrupt: (() => void) | undefined;
  #isInterruptedEarly = false;
  #hasEnded = false;
  #onAccepted: (() => void) | undefined;

  /** @internal `perform` is called at once; it starts the work without a pause where nothing is to wait for. */
  constructor(perform: (progress: RunProgress) => Promise<RunResult>) {
    const progress: RunProgress = {
      log: this.log,
      accepted: (interrupt) => {
        this.#interrupt = interrupt;
        if (this.#isInterruptedEarly) interrupt();
        this.#onAccepted?.();
      },
    };
    this.#result = this.#settle(perform, progress);
    this.#result.catch(() => {}); // whoever awaits it sees the failure; nobody is obliged to
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

  /** @internal Settles when the session has taken the code; rejects when it refuses. */
  async accepted(): Promise<void> {
    if (this.#interrupt !== undefined) return;
    const accepted = new Promise<void>((resolve) => {
      this.#onAccepted = resolve;
    });
    await Promise.race([accepted, this.#result]);
  }

  /** Stops the run and keeps the state; a second call kills what ignores the first. */
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

  /** Events from the first on, past and to come. What codecell itself failed with is thrown at the end. */
  async *[Symbol.asyncIterator](): AsyncGenerator<RunEvent> {
    for await (const { event } of this.log.from(0)) if (event.type !== "end") yield event;
  }
}
