import type { Artifact, LeftOut } from "../../artifacts/artifacts.ts";
import type { DoneMessage, Language, RunError, RunState, RunStatus } from "../../kernel/messages.ts";
import type { EnforcementReceipt } from "../../runners/receipt.ts";
import type { RunEgress } from "../network/egress-record.ts";

/** What happens while a run goes on, in order. */
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
  readonly result: string | undefined;
  readonly error: RunError | undefined;
  readonly displays: readonly DisplayEvent[];
  /** whether output or result was cut; the true sizes are beside it */
  readonly truncated: boolean;
  readonly stdoutBytes: number;
  readonly stderrBytes: number;
  /** what was lost or ended, one sentence each */
  readonly notes: readonly string[];
  /** after a recovery: the run whose end state came back; 0 is the fresh interpreter */
  readonly recoveredTo: number | undefined;
  /** files that the run created or changed, as the host found them; needs a workspace on the host */
  readonly artifacts: readonly Artifact[];
  /** changed files that are no artifacts and why */
  readonly leftOut: readonly LeftOut[];
  /** hosts that the run reached or was refused; only where the policy gives a network */
  readonly egress?: RunEgress;
  readonly durationMs: number;
  readonly usage: RunUsage;
  readonly runner: string;
  readonly receipt: EnforcementReceipt;
}

/** How one run goes. */
export interface LiveRunOptions {
  readonly language?: Language;
  /** at most the policy's `proc.timeout` */
  readonly timeoutMs?: number;
  /** aborting interrupts the run; the result still comes, with status `cancelled` */
  readonly signal?: AbortSignal;
}

const maxDisplayBytes = 64 * 1024 * 1024;
/** What one piece of a display takes besides its bytes, so that a flood of empty ones ends as well. */
const displayPieceBytes = 1024;

/**
 * One execution: an AsyncIterable of events from the first on, for any number of readers, and a `result` that settles
 * even if nobody reads.
 */
export class Run implements AsyncIterable<RunEvent>, AsyncDisposable {
  readonly id: number;
  readonly result: Promise<RunResult>;
  readonly #events: RunEvent[] = [];
  /** made with the first output: most runs print nothing */
  readonly #decoders: Partial<Record<"stdout" | "stderr", InstanceType<typeof TextDecoder>>> = {};
  readonly #received = { stdout: 0, stderr: 0 };
  readonly #outputBytes: number;
  readonly #interrupt: () => void;
  #displayParts: Buffer[] = [];
  #displayBytes = 0;
  #ended = false;
  #wake: (() => void)[] = [];

  /** @internal */
  constructor(id: number, outputBytes: number, interrupt: () => void, end: (run: Run) => Promise<RunResult>) {
    this.id = id;
    this.#outputBytes = outputBytes;
    this.#interrupt = interrupt;
    this.result = this.#until(end(this));
    this.result.catch(() => {}); // whoever awaits it sees the failure; nobody is obliged to
  }

  async #until(ending: Promise<RunResult>): Promise<RunResult> {
    try {
      return await ending;
    } finally {
      this.#ended = true;
      this.#notify();
    }
  }

  /** Stops the run and keeps the state; a second call ends what ignores the first. */
  interrupt(): void {
    if (!this.#ended) this.#interrupt();
  }

  /** Interrupts the run if it still goes on, and waits for its end. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.interrupt();
    await this.result.catch(() => {});
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<RunEvent> {
    for (let at = 0; ; ) {
      const event = this.#events[at];
      if (event) {
        at++;
        yield event;
      } else if (this.#ended) {
        return;
      } else {
        await new Promise<void>((resolve) => this.#wake.push(resolve));
      }
    }
  }

  /** @internal Called by the session with bytes from the cell; the cell's own limits are not believed. */
  receiveOutput(stream: "stdout" | "stderr", bytes: Uint8Array): void {
    const room = this.#outputBytes - this.#received.stdout - this.#received.stderr;
    const kept = bytes.subarray(0, Math.max(0, room));
    this.#received[stream] += kept.byteLength;
    this.#decoders[stream] ??= new TextDecoder();
    this.#push(stream, this.#decoders[stream].decode(kept, { stream: true }));
  }

  /** @internal */
  receiveDisplay(part: { display: number; mime: string; more: boolean }, bytes: Uint8Array): void {
    this.#displayBytes += bytes.byteLength + displayPieceBytes;
    if (this.#displayBytes > maxDisplayBytes) return;
    this.#displayParts.push(Buffer.from(bytes));
    if (part.more) return;
    const data = Buffer.concat(this.#displayParts);
    this.#displayParts = [];
    this.#events.push({ type: "display", display: part.display, mime: part.mime, data });
    this.#notify();
  }

  /** @internal Everything received so far, as the fields of a result. */
  gathered(): { stdout: string; stderr: string; displays: DisplayEvent[] } {
    for (const stream of ["stdout", "stderr"] as const) this.#push(stream, this.#decoders[stream]?.decode() ?? "");
    if (this.#events.length === 0) return { stdout: "", stderr: "", displays: [] };
    const text = (type: "stdout" | "stderr") =>
      this.#events.map((event) => (event.type === type ? event.text : "")).join("");
    const displays = this.#events.filter((event): event is DisplayEvent => event.type === "display");
    return { stdout: text("stdout"), stderr: text("stderr"), displays };
  }

  /** @internal */
  wasTruncated(done: Pick<DoneMessage, "stdoutBytes" | "stderrBytes">): boolean {
    const lostOutput = this.#received.stdout < done.stdoutBytes || this.#received.stderr < done.stderrBytes;
    return lostOutput || this.#displayBytes > maxDisplayBytes;
  }

  #push(type: "stdout" | "stderr", text: string): void {
    if (text === "") return;
    this.#events.push({ type, text });
    this.#notify();
  }

  #notify(): void {
    const waiting = this.#wake;
    this.#wake = [];
    for (const wake of waiting) wake();
  }
}
