import { HashCache } from "../artifacts/hash-cache.ts";
import type { WorkspaceFiles } from "../artifacts/workspace-files.ts";
import type { KernelClient } from "../kernel/client.ts";
import type { RestoreFailure, ValueFormat, Variable } from "../kernel/messages.ts";
import { parsePreview, type ValuePreview } from "../kernel/value-preview.ts";
import { CodecellError } from "../lib/errors.ts";
import type { LiveChange } from "../policy/change/live-rules.ts";
import type { Authority, PolicyChange } from "../policy/change/merge.ts";
import { defaultLanguage, type Language } from "../policy/languages.ts";
import type { Policy } from "../policy/schema.ts";
import type { EnforcementReceipt } from "../runners/receipt.ts";
import type { CellUsage } from "../runners/runner.ts";
import type { CellPolicy } from "./cell-policy.ts";
import { type Checkpoint, Checkpoints } from "./interpreter/checkpoints.ts";
import { InterpreterLosses } from "./interpreter/interpreter-losses.ts";
import {
  decodeJson,
  defaultValueBytes,
  type EncodedValue,
  encodeValue,
  type ReadOptions,
  readValue,
} from "./interpreter/session-values.ts";
import { finishRun, type RunningSession } from "./runs/finish-run.ts";
import { Run, type RunProgress, type RunResult } from "./runs/run.ts";
import { RunAudit } from "./runs/run-audit.ts";
import { RunOutput } from "./runs/run-output.ts";
import type { SessionAudit } from "./session-audit.ts";
import type { SharedCell } from "./shared-cell.ts";
import { SnapshotRecovery } from "./storage/snapshot-recovery.ts";

const maxCodeBytes = 2 * 1024 * 1024;
const defaultPreviewBytes = 64 * 1024;

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

/** How one run in a cell goes. */
export interface LiveRunOptions {
  readonly language?: Language;
  /** at most the policy's `proc.timeout` */
  readonly timeoutMs?: number;
  /** aborting interrupts the run; the result still comes, with status `cancelled` */
  readonly signal?: AbortSignal;
}

/** The run that a session is busy with. */
interface ActiveRun {
  readonly id: number;
  readonly ended: Promise<RunResult>;
  interrupt(): void;
}

/** A session in its cell: owns the interpreter's variables, so that what one run defines, the next one sees. */
export class LiveSession implements AsyncDisposable {
  /** the workspace as the host reaches it; absent: the files live and end with the cell */
  readonly files: WorkspaceFiles | undefined;
  readonly #cell: SharedCell;
  readonly #kernel: KernelClient;
  readonly #losses: InterpreterLosses;
  readonly #onClose: (session: LiveSession) => void;
  readonly #onClosed: ((session: LiveSession) => void) | undefined;
  readonly #onFork: (fork: LiveSession) => void;
  readonly #checkpoints: Checkpoints;
  /** where the kernel leaves no copy of the interpreter behind */
  readonly #recovery: SnapshotRecovery | undefined;
  readonly #audit: SessionAudit | undefined;
  readonly #runAudit: RunAudit | undefined;
  readonly #running: RunningSession;
  #id: string;
  #active: ActiveRun | undefined;
  #closing: Promise<void> | undefined;
  /** until variables that were lost between two runs are back */
  #recovering: Promise<void> | undefined;

  /** @internal */
  constructor(parts: LiveSessionParts) {
    this.#id = parts.id;
    this.files = parts.files;
    this.#cell = parts.cell;
    this.#kernel = parts.kernel;
    this.#losses = parts.losses;
    this.#onClose = parts.onClose;
    this.#onClosed = parts.onClosed;
    this.#onFork = parts.onFork;
    this.#audit = parts.audit;
    this.#runAudit = parts.audit && new RunAudit(parts.audit, parts.cell);
    this.#checkpoints = new Checkpoints(parts.kernel, this.policy.session.checkpoints, parts.losses);
    const { features } = parts.kernel.info;
    const needsSnapshots = features.includes("snapshot") && !features.includes("checkpoints");
    const isWanted = this.policy.session.recovery !== "off";
    this.#recovery = needsSnapshots && isWanted ? new SnapshotRecovery(parts.kernel) : undefined;
    this.#running = {
      ...{ cell: parts.cell, files: parts.files, digests: new HashCache(), recovery: this.#recovery },
      recovering: () => this.#recovering,
      isAlive: () => this.isAlive,
      isClosing: () => this.#closing !== undefined,
      close: () => this.close(),
      takeNews: () => this.#takeNews(),
    };
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
      this.#audit?.policyChanging(authority, coming, this.id),
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

  /** Whether a run goes on. */
  get isBusy(): boolean {
    return this.#active !== undefined;
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

  /** Starts a run. One at a time: a second one while the first is running is refused with `session_busy`. */
  run(code: string, options: LiveRunOptions = {}): Run {
    this.#assertReady(code, options.language ?? "python");
    return new Run((progress) => this.perform(progress, this.#kernel.nextRunId, code, options));
  }

  /** @internal The work behind a run. The audit calls it `number`: a session that comes back goes on counting, and its cell begins at 1. */
  perform(progress: RunProgress, number: number, code: string, options: LiveRunOptions): Promise<RunResult> {
    const language = options.language ?? defaultLanguage;
    this.#assertReady(code, language);
    const timeoutMs = Math.min(options.timeoutMs ?? this.policy.proc.timeoutMs, this.policy.proc.timeoutMs);
    const outputBytes = this.policy.proc.outputBytes;
    const started = performance.now();
    const id = this.#kernel.nextRunId;
    const output = new RunOutput(progress.log, outputBytes);
    const lost: string[] = [];
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
      this.#recovery?.beforeRun();
      const { done } = this.#kernel.run(
        { language, code, timeoutMs, outputBytes },
        {
          onOutput: (stream, bytes) => output.receive(stream, bytes),
          onDisplay: (part, bytes) => output.receiveDisplay(part, bytes),
          // What is lost after this moment is for the next result to tell.
          onEnd: () => lost.push(...this.#takeNews()),
        },
      );
      isBegun = true;
      if (isInterrupted) interrupt();
      const signal = options.signal ? { signal: options.signal } : {};
      return finishRun(this.#running, { id, output, interrupt, timeoutMs, started, lost, drop, ...signal }, done);
    };
    const { runner, policyHash: policy } = this.receipt;
    const facts = { session: this.id, run: number, language, runner, policy, code, timeoutMs };
    const ended = this.#runAudit ? this.#runAudit.run(facts, started, { begin, drop }) : begin();
    this.#active = { id, interrupt, ended };
    progress.accepted(interrupt);
    return ended;
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
    const { maxBytes = defaultPreviewBytes } = options;
    return parsePreview(await this.#read(expression, "preview", { ...options, maxBytes }));
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
    this.#recovery?.changed();
  }

  /** Forgets every variable and starts a fresh interpreter in the same cell; files stay. */
  async reset(): Promise<void> {
    this.#assertOpen();
    this.#recovery?.stop();
    await this.#kernel.reset();
    this.#recovery?.begunAnew();
    this.#losses.followedBy("then the interpreter was reset");
  }

  /** Freezes a copy of the interpreter under a name; copy-on-write, so it costs milliseconds whatever it holds. */
  async checkpoint(name: string): Promise<Checkpoint> {
    this.#assertIdle("checkpoints");
    return this.#checkpoints.keep(name, () => this.runs);
  }

  /** The checkpoints that `rollback` can go back to. */
  get checkpoints(): Checkpoint[] {
    return this.#checkpoints.list;
  }

  /** Variables as they were at the checkpoint, which stays; files are as they are now. */
  async rollback(name: string): Promise<Checkpoint> {
    this.#assertIdle("checkpoints");
    const checkpoint = await this.#checkpoints.goBackTo(this.id, name);
    this.#losses.followedBy(`variables are as they were at checkpoint ${name}`);
    return checkpoint;
  }

  /** Ends a checkpoint and gives back what it holds. */
  async forgetCheckpoint(name: string): Promise<void> {
    this.#assertIdle("checkpoints");
    await this.#checkpoints.forget(this.id, name);
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
      onGone: (name) => fork?.checkpointGone(name),
    });
    losses.inherit(this.#losses);
    const cell = this.#cell.acquire();
    const { files } = this;
    const [onClose, onClosed, onFork] = [this.#onClose, this.#onClosed, this.#onFork];
    fork = new LiveSession({
      ...{ id, cell, kernel, losses, onClose, onClosed, onFork },
      ...(files ? { files } : {}),
      ...(this.#audit ? { audit: this.#audit } : {}),
    });
    onFork(fork);
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
    this.#recovery?.changed();
    return failures;
  }

  /** @internal The interpreter died between two runs and nothing of it was kept in the cell. */
  interpreterLost(): void {
    this.#recovering = this.#recovery?.recover("between runs").then(({ notes }) => {
      this.#losses.add(...notes);
    });
  }

  /** @internal A checkpoint has ended without anybody's doing here: who counts on it hears of it with the next result. */
  checkpointGone(name: string): void {
    this.#checkpoints.ended(name);
  }

  /** What changed between two runs without the caller's doing; told once. */
  #takeNews(): string[] {
    return [...this.#losses.take(), ...this.#checkpoints.takeGone()];
  }

  /** @internal The host put this file into the workspace itself: as it is, no run made it. */
  given({ path, size, modifiedMs }: { path: string; size: number; modifiedMs: number }): void {
    this.#cell.given.set(path, `${size} ${modifiedMs}`);
  }

  /** @internal Stops the run that goes on, if one does, and waits for its end; what ignores an interrupt is ended. */
  async settle(): Promise<void> {
    const active = this.#active;
    active?.interrupt();
    await active?.ended.catch(() => {});
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
      this.#onClose(this);
      this.#recovery?.stop();
      const active = this.#active;
      await this.#runAudit?.settled; // the cell knows what it has used as long as it is there
      const isShared = this.#cell.users > 1;
      if (isShared && this.#kernel.isAlive) await this.#kernel.leave().catch(() => {});
      await this.#cell.release();
      if (!this.#runAudit) return;
      await active?.ended.catch(() => {});
      await this.#runAudit.settled;
      this.#onClosed?.(this);
    })();
    return this.#closing;
  }

  async #read(expression: string, format: ValueFormat, options: ReadOptions): Promise<Buffer> {
    this.#assertOpen();
    const { maxBytes = defaultValueBytes, timeoutMs = this.policy.proc.timeoutMs } = options;
    return readValue(this.#kernel, expression, format, { maxBytes, timeoutMs });
  }

  #assertOpen(): void {
    if (this.#closing) throw new CodecellError("session_closed", `session ${this.id} is closed`);
  }

  #assertIdle(feature: string): void {
    this.#assertOpen();
    if (!this.features.includes(feature)) {
      throw new CodecellError(
        "not_supported",
        `the ${this.receipt.runner} runner does not support ${feature.endsWith("s") ? feature : `${feature}s`}`,
        {
          hint: "use the process runner",
        },
      );
    }
    this.#assertFree("await its result or interrupt it first");
  }

  #assertFree(hint: string): void {
    if (!this.#active) return;
    throw new CodecellError("session_busy", `run ${this.#active.id} of session ${this.id} is still running`, { hint });
  }

  #assertReady(code: string, language: string): void {
    this.#assertOpen();
    this.#assertFree("await its result, interrupt it, or open a second session");
    if (!this.languages.includes(language)) {
      const message = `${language} is not available in the ${this.receipt.runner} runner`;
      const hint = `this session runs ${this.languages.join(" and ")}`;
      throw new CodecellError("language_unavailable", message, { hint });
    }
    assertCode(code);
  }
}

function assertCode(code: string): void {
  // from JavaScript, where nobody checks types
  if (typeof code !== "string") throw new CodecellError("usage", `the code must be a string, not ${typeof code}`);
  const bytes = Buffer.byteLength(code);
  if (bytes <= maxCodeBytes) return;
  const message = `the code has ${bytes} bytes; the limit is ${maxCodeBytes}`;
  throw new CodecellError("too_large", message, { hint: "put large data into a variable with set()" });
}
