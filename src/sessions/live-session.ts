import { HashCache } from "../artifacts/hash-cache.ts";
import type { WorkspaceFiles } from "../artifacts/workspace-files.ts";
import type { KernelClient } from "../kernel/client.ts";
import type { RestoreFailure, ValueFormat, Variable } from "../kernel/messages.ts";
import { parsePreview, type ValuePreview } from "../kernel/value-preview.ts";
import { CodecellError } from "../lib/errors.ts";
import type { LiveChange } from "../policy/change/live-rules.ts";
import type { Authority, PolicyChange } from "../policy/change/merge.ts";
import { defaultLanguage } from "../policy/languages.ts";
import type { Policy } from "../policy/schema.ts";
import type { EnforcementReceipt } from "../runners/receipt.ts";
import type { CellUsage } from "../runners/runner.ts";
import type { Checkpoint } from "./interpreter/checkpoints.ts";
import { InterpreterLosses } from "./interpreter/interpreter-losses.ts";
import { InterpreterState } from "./interpreter/interpreter-state.ts";
import {
  decodeJson,
  defaultValueBytes,
  type EncodedValue,
  encodeValue,
  type ReadOptions,
  readValue,
} from "./interpreter/session-values.ts";
import type { CellPolicy } from "./rules/cell-policy.ts";
import type { RunningSession } from "./runs/finish-run.ts";
import { LiveRuns } from "./runs/live-runs.ts";
import { Run, type RunProgress, type RunResult } from "./runs/run.ts";
import { RunAudit } from "./runs/run-audit.ts";
import type { LiveRunOptions } from "./runs/run-options.ts";
import type { SessionAudit } from "./session-audit.ts";
import type { SharedCell } from "./shared-cell.ts";

/** @internal */
export interface LiveSessionParts {
  readonly id: string;
  readonly cell: SharedCell;
  readonly kernel: KernelClient;
  /** what the interpreter lost between two runs; told with the next result */
  readonly losses: InterpreterLosses;
  readonly onClose: (session: LiveSession) => void;
  /** with an audit only: everything of it is over and written down */
  readonly onClosed?: ((session: LiveSession) => void) | undefined;
  /** somebody has to close it when nobody else does */
  readonly onFork: (fork: LiveSession) => void;
  /** the files of the host directory behind /workspace, where there is one */
  readonly files?: WorkspaceFiles;
  /** absent: nothing is written down */
  readonly audit?: SessionAudit;
}

/** A session in its cell: owns the interpreter's variables, so that what one run defines, the next one sees. */
export class LiveSession implements AsyncDisposable {
  /** the workspace as the host reaches it; absent: the files live and end with the cell */
  readonly files: WorkspaceFiles | undefined;
  /** @internal what became of its variables besides its runs */
  readonly interpreter: InterpreterState;
  readonly #parts: LiveSessionParts;
  readonly #cell: SharedCell;
  readonly #kernel: KernelClient;
  readonly #losses: InterpreterLosses;
  readonly #runAudit: RunAudit | undefined;
  readonly #runs: LiveRuns;
  #id: string;
  #closing: Promise<void> | undefined;

  /** @internal */
  constructor(parts: LiveSessionParts) {
    const { cell, files, kernel, losses, audit } = parts;
    this.#parts = parts;
    this.#id = parts.id;
    this.files = files;
    this.#cell = cell;
    this.#kernel = kernel;
    this.#losses = losses;
    this.#runAudit = audit && new RunAudit(audit, cell);
    this.interpreter = new InterpreterState(kernel, this.policy.session, losses);
    const running: RunningSession = {
      ...{ cell, files, interpreter: this.interpreter, digests: new HashCache() },
      id: () => this.id,
      isAlive: () => this.isAlive,
      isClosing: () => this.#closing !== undefined,
      close: () => this.close(),
    };
    this.#runs = new LiveRuns(running, kernel, this.#runAudit);
  }

  get id(): string {
    return this.#id;
  }

  /** @internal Gives a session that waited in a pool the id it is asked for. */
  rename(id: string): void {
    this.#id = id;
  }

  /** @internal Makes the first run as quick as the later ones; for a session that waits in a pool. */
  rehearse(): Promise<void> {
    return this.#kernel.rehearse();
  }

  /** The policy it is under now. */
  get policy(): Policy {
    return this.#cell.rules.policy;
  }

  /** @internal The policy with how it changes. Forks share it, as they share the cell. */
  get rules(): CellPolicy {
    return this.#cell.rules;
  }

  /**
   * Changes rules of its network, as far as the policy that it was opened under goes. When this returns they hold, and
   * connections that they do not allow are closed.
   */
  async updatePolicy(change: LiveChange, authority: Authority = "host"): Promise<readonly PolicyChange[]> {
    this.#assertOpen();
    return this.rules.change(change, authority, async (coming) =>
      this.#parts.audit?.policyChanging(authority, coming, this.id),
    );
  }

  /** What is enforced on it, rule by rule, and by what. */
  get receipt(): EnforcementReceipt {
    return this.#cell.receipt;
  }

  /** What `run` takes as `language`. */
  get languages(): readonly string[] {
    return this.#kernel.info.languages;
  }

  /** False once the cell is gone or the session closed. */
  get isAlive(): boolean {
    return this.#closing === undefined && this.#kernel.isAlive;
  }

  /** Whether a run is running. */
  get isBusy(): boolean {
    return this.#runs.isBusy;
  }

  /** How many runs there were. */
  get runs(): number {
    return this.#kernel.nextRunId - 1;
  }

  /** What the kernel in the cell can do beyond running code, such as `checkpoints`, `fork` and `snapshot`. */
  get features(): readonly string[] {
    return this.#kernel.info.features;
  }

  get pythonVersion(): string {
    return this.#kernel.info.python;
  }

  /** Starts a run. A second run while the first is running is refused with `session_busy`. */
  run(code: string, options: LiveRunOptions = {}): Run {
    this.#assertReady(code, options);
    return new Run((progress) => this.perform(progress, this.#kernel.nextRunId, code, options));
  }

  /** @internal The work behind a run; the audit calls it `number`. */
  perform(progress: RunProgress, number: number, code: string, options: LiveRunOptions): Promise<RunResult> {
    this.#assertReady(code, options);
    return this.#runs.start(progress, number, code, options);
  }

  /** Names, types, sizes and summaries of the session's variables. */
  variables(): Promise<Variable[]> {
    this.#assertOpen();
    return this.#kernel.variables();
  }

  /** The value of a variable, or of any Python expression, through JSON. What is over the limit stays in the cell. */
  async get(expression: string, options: ReadOptions = {}): Promise<unknown> {
    return decodeJson(await this.#read(expression, "json", options));
  }

  /** The bytes of a bytes-like or text variable, without base64. */
  getBytes(name: string, options: ReadOptions = {}): Promise<Buffer> {
    return this.#read(name, "bytes", options);
  }

  /** The beginning of a value as text, whatever its size: JSON, or the repr of what JSON cannot hold. */
  async preview(expression: string, options: ReadOptions = {}): Promise<ValuePreview> {
    return parsePreview(await this.#read(expression, "preview", options));
  }

  /** Puts a value into a variable: bytes as they are, anything else through JSON. */
  async set(name: string, value: unknown): Promise<void> {
    this.#assertOpen();
    const { format, body } = encodeValue(name, value);
    return this.setEncoded(name, format, body);
  }

  /** @internal Puts bytes that are already encoded into a variable, as `decodeHostFile` gives them. */
  async setEncoded(name: string, format: EncodedValue["format"], body: Uint8Array): Promise<void> {
    this.#assertOpen();
    await this.#kernel.set(name, format, body);
    this.interpreter.recovery?.changed();
  }

  /** Forgets every variable and starts a fresh interpreter in the same cell; files stay. */
  async reset(): Promise<void> {
    this.#assertOpen();
    this.interpreter.recovery?.stop();
    await this.#kernel.reset();
    this.interpreter.recovery?.begunAnew();
    this.#losses.followedBy("then the interpreter was reset");
  }

  /** Freezes a copy of the interpreter under a name; copy-on-write, so it costs milliseconds whatever it holds. */
  async checkpoint(name: string): Promise<Checkpoint> {
    this.#assertIdle("checkpoints");
    return this.interpreter.checkpoints.keep(name, () => this.runs);
  }

  /** The checkpoints that `rollback` can go back to. */
  get checkpoints(): Checkpoint[] {
    return this.interpreter.checkpoints.list;
  }

  /** Variables as they were at the checkpoint, which stays; files are as they are now. */
  async rollback(name: string): Promise<Checkpoint> {
    this.#assertIdle("checkpoints");
    const checkpoint = await this.interpreter.checkpoints.goBackTo(this.id, name);
    this.#losses.followedBy(`variables are as they were at checkpoint ${name}`);
    return checkpoint;
  }

  /** Ends a checkpoint and gives back what it holds. */
  async forgetCheckpoint(name: string): Promise<void> {
    this.#assertIdle("checkpoints");
    await this.interpreter.checkpoints.forget(this.id, name);
  }

  /**
   * A second session that starts from this one's variables. It lives in the same cell: it shares the cell's limits, its
   * workspace and its processes' view, and has its own interpreter, runs and checkpoints.
   */
  async fork(id: string): Promise<LiveSession> {
    this.#assertIdle("fork");
    const losses = new InterpreterLosses();
    let fork: LiveSession | undefined;
    const kernel = await this.#kernel.fork({
      onLost: ({ notes }) => losses.happenedBetweenRuns(notes),
      onGone: (name) => fork?.interpreter.checkpoints.ended(name),
    });
    losses.inherit(this.#losses);
    fork = new LiveSession({ ...this.#parts, id, kernel, losses, cell: this.#cell.acquire() });
    this.#parts.onFork(fork);
    return fork;
  }

  /** How many sessions live in this one's cell, itself included. */
  get sharers(): number {
    return this.#cell.users;
  }

  /** Every variable as bytes, made inside the cell, for `restore`. The host never looks into them. */
  snapshot(options: { maxBytes?: number; timeoutMs?: number } = {}): Promise<Buffer> {
    this.#assertIdle("snapshot");
    const { maxBytes = defaultValueBytes, timeoutMs = this.policy.proc.timeoutMs } = options;
    // The bytes of a value are made beside it: a larger one would have the memory killer end the interpreter.
    const maxValueBytes = Math.floor(this.policy.proc.memoryBytes / 3);
    return this.#kernel.snapshot({ maxBytes, timeoutMs, maxValueBytes });
  }

  /** Puts the variables of a snapshot back and tells which did not come back. */
  async restore(snapshot: Uint8Array, options: { timeoutMs?: number } = {}): Promise<RestoreFailure[]> {
    this.#assertIdle("snapshot");
    const failures = await this.#kernel.restore(snapshot, options.timeoutMs);
    this.interpreter.recovery?.changed();
    return failures;
  }

  /** @internal The host put this file into the workspace itself: as it is, no run made it. */
  given({ path, size, modifiedMs }: { path: string; size: number; modifiedMs: number }): void {
    this.#cell.given.set(path, `${size} ${modifiedMs}`);
  }

  /** @internal Interrupts the active run and waits for its end. A run that ignores the interrupt is killed. */
  settle(): Promise<void> {
    return this.#runs.stop();
  }

  /** @internal Adds a sentence to the notes of the next result. */
  addNote(note: string): void {
    this.#losses.add(note);
  }

  /** What the whole cell takes now, as far as the runner can tell. */
  usage(): Promise<CellUsage> {
    return this.#cell.usage();
  }

  /** Ends the cell and everything in it; the same as disposing, for code without `await using`. Twice is safe. */
  close(): Promise<void> {
    return this[Symbol.asyncDispose]();
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#closing ??= (async () => {
      this.#parts.onClose(this);
      this.interpreter.recovery?.stop();
      const ended = this.#runs.settled();
      await this.#runAudit?.settled; // the cell knows what it has used as long as it is there
      const isShared = this.#cell.users > 1;
      if (isShared && this.#kernel.isAlive) await this.#kernel.leave().catch(() => {});
      await this.#cell.release();
      if (!this.#runAudit) return;
      await ended;
      await this.#runAudit.settled;
      this.#parts.onClosed?.(this);
    })();
    return this.#closing;
  }

  async #read(expression: string, format: ValueFormat, options: ReadOptions): Promise<Buffer> {
    this.#assertOpen();
    const { timeoutMs = this.policy.proc.timeoutMs } = options;
    return readValue(this.#kernel, expression, format, { ...options, timeoutMs });
  }

  #assertOpen(): void {
    if (this.#closing) throw new CodecellError("session_closed", `session ${this.id} is closed`);
  }

  #assertIdle(feature: string): void {
    this.#assertOpen();
    if (!this.features.includes(feature)) {
      const message = `the ${this.receipt.runner} runner does not support ${feature.replace(/s?$/, "s")}`;
      throw new CodecellError("not_supported", message, { hint: "use the process runner" });
    }
    this.#runs.assertIdle("await its result or interrupt it first");
  }

  #assertReady(code: string, { language = defaultLanguage }: LiveRunOptions): void {
    this.#assertOpen();
    this.#runs.assertReady(code, language);
  }
}
