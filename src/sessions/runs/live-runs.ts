import type { KernelClient } from "../../kernel/client.ts";
import { CodecellError, messageOf } from "../../lib/errors.ts";
import { formatDuration } from "../../policy/format-units.ts";
import { defaultLanguage, type Language } from "../../policy/languages.ts";
import type { RunBegin } from "../session-audit.ts";
import { finishRun, type RunningSession } from "./finish-run.ts";
import type { LiveRunOptions } from "./live-run-options.ts";
import { OverdueWatch } from "./overdue-watch.ts";
import type { RunProgress, RunResult } from "./run.ts";
import type { RunAudit } from "./run-audit.ts";
import { RunOutput } from "./run-output.ts";
import { programOf } from "./run-program.ts";

const maxCodeBytes = 2 * 1024 * 1024;
/** The time that functions of the host take does not count as the run's, up to this. */
const hostWaitMs = 600_000;

/** The run that a session is busy with. */
interface ActiveRun {
  readonly id: number;
  readonly ended: Promise<RunResult>;
  interrupt(): void;
}

/** The runs of one interpreter, one at a time: starts them, interrupts them and has them recorded. */
export class LiveRuns {
  readonly #session: RunningSession;
  readonly #kernel: KernelClient;
  readonly #audit: RunAudit | undefined;
  readonly #overdue = new OverdueWatch();
  #active: ActiveRun | undefined;

  constructor(session: RunningSession, kernel: KernelClient, audit: RunAudit | undefined) {
    this.#session = session;
    this.#kernel = kernel;
    this.#audit = audit;
  }

  get isBusy(): boolean {
    return this.#active !== undefined;
  }

  /** The session's run whose final state the interpreter has. Undefined: a crash lost everything. */
  get stateRun(): number | undefined {
    const { stateRun } = this.#kernel;
    return stateRun === undefined ? undefined : this.#kernel.numbers.ofSession(stateRun);
  }

  numberOf(id: number): number {
    return this.#kernel.numbers.ofSession(id);
  }

  /** The cell starts with the variables of this run of the session. */
  startsAfter(run: number): void {
    this.#kernel.numbers.startsAfter(run);
  }

  /** Sends the code to the kernel. `number` is the session's: a restored session keeps counting, while its cell starts at 1. */
  start(progress: RunProgress, number: number, code: string, options: LiveRunOptions): Promise<RunResult> {
    const { cell, interpreter } = this.#session;
    const { timeoutMs: limitMs, outputBytes: keptBytes } = cell.rules.policy.proc;
    const outputBytes = options.outputBytes ?? keptBytes;
    const language = options.language ?? defaultLanguage;
    const timeoutMs = Math.min(options.timeoutMs ?? limitMs, limitMs);
    const program = programOf(options);
    const started = performance.now();
    const id = this.#kernel.nextRunId;
    if (options.isStreamed) progress.log.forgetWhatIsRead();
    const isCut = options.timeoutMs !== undefined && options.timeoutMs > limitMs;
    const lost: string[] = isCut ? [`the policy limits runs to ${formatDuration(limitMs)}`] : [];
    let isBegun = false;
    let isInterrupted = false;
    const interrupt = () => {
      if (isBegun) this.#kernel.interrupt(id);
      else isInterrupted = true;
    };
    const drop = () => {
      this.#active = undefined;
    };
    const begin = () => {
      interpreter.recovery?.beforeRun();
      interpreter.undo.before(number);
      const plain = { language, code, timeoutMs, outputBytes };
      const isPlain = program === undefined && options.functions === undefined;
      const { done } = this.#kernel.run(
        isPlain ? plain : { ...plain, ...program, ...(options.functions && { hostWaitMs }) },
        {
          onOutput: (stream, bytes, skipped) => output.receive(stream, bytes, skipped),
          onHeld: (bytes) => progress.log.hold(bytes),
          onDisplay: (part, bytes) => output.receiveDisplay(part, bytes),
          // What is lost after this moment belongs to the next result.
          onEnd: () => interpreter.giveNews(lost),
          // Without its end: a program that sees one would take half of the data for all of it.
          onStdinFailure: (error) => {
            lost.push(`stdin failed and the run was interrupted: ${messageOf(error)}`);
            interrupt();
          },
        },
      );
      // The rest is done while the cell works: its first message cannot be handled before this function returns.
      const output = new RunOutput(progress.log, outputBytes);
      this.#kernel.numbers.note(id, number);
      cell.runStarts();
      isBegun = true;
      if (isInterrupted) interrupt();
      const waitedMs = () => Math.min(hostWaitMs, this.#kernel.hostWaitedMs);
      const { signal } = options;
      const limitBytes = options.outputBytes === undefined ? undefined : outputBytes;
      const overdue = this.#overdue;
      const limits = { timeoutMs, overdue, waitedMs, limitBytes };
      const course = { id, number, output, interrupt, started, lost, drop, signal, ...limits };
      const finished = finishRun(this.#session, course, done);
      const leave = cell.network?.log.runStarts({ session: () => this.#session.id(), run: number });
      return leave ? finished.finally(leave) : finished;
    };
    const ended = this.#audit
      ? this.#audit.run(() => this.#facts(number, language, code, timeoutMs, options), started, { begin, drop })
      : begin();
    if (!this.#audit) ended.then(() => cell.runEnded()).catch(() => {}); // the audit asks for the usage itself
    this.#active = { id, interrupt, ended };
    progress.accepted(interrupt);
    return ended;
  }

  #facts(run: number, language: Language, code: string, timeoutMs: number, options: LiveRunOptions): RunBegin {
    const { runner, policyHash: policy } = this.#session.cell.receipt;
    const session = this.#session.id();
    const facts = { session, run, language, runner, policy, code, timeoutMs };
    return options.args === undefined ? facts : { ...facts, args: options.args.length };
  }

  /** Throws unless this code can start now. */
  assertReady(code: string, language: string): void {
    this.assertIdle("await its result, interrupt it, or open a second session");
    const { languages } = this.#kernel.info;
    if (!languages.includes(language)) {
      const message = `${language} is not available in the ${this.#session.cell.receipt.runner} runner`;
      const hint = `this session runs ${languages.join(" and ")}`;
      throw new CodecellError("language_unavailable", message, { hint });
    }
    assertCode(code);
  }

  assertIdle(hint: string): void {
    if (!this.#active) return;
    const message = `run ${this.#active.id} of session ${this.#session.id()} is still running`;
    throw new CodecellError("session_busy", message, { hint });
  }

  /** Interrupts the active run and waits for its end. A run that ignores the interrupt is killed. */
  async stop(): Promise<void> {
    this.#active?.interrupt();
    await this.settled();
  }

  /** Waits for the end of the active run, whatever it is. */
  async settled(): Promise<void> {
    await this.#active?.ended.catch(() => {});
  }
}

function assertCode(code: string): void {
  // Callers in JavaScript have no type check.
  if (typeof code !== "string") throw new CodecellError("usage", `the code must be a string, not ${typeof code}`);
  const bytes = Buffer.byteLength(code);
  if (bytes <= maxCodeBytes) return;
  const message = `the code has ${bytes} bytes; the limit is ${maxCodeBytes}`;
  throw new CodecellError("too_large", message, { hint: "put large data into a variable with set()" });
}
