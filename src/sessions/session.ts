import { setImmediate as afterThis } from "node:timers/promises";
import { describeArtifacts } from "../artifacts/artifacts.ts";
import { HashCache } from "../artifacts/hash-cache.ts";
import type { WorkspaceFiles } from "../artifacts/workspace-files.ts";
import type { KernelClient } from "../kernel/client.ts";
import type { ChangedFile, DoneMessage, RestoreFailure, RunStatus, ValueFormat, Variable } from "../kernel/messages.ts";
import { parsePreview, type ValuePreview } from "../kernel/value-preview.ts";
import { CodecellError } from "../lib/errors.ts";
import type { Policy } from "../policy/schema.ts";
import type { EnforcementReceipt } from "../runners/receipt.ts";
import { egressNotes } from "./egress-record.ts";
import { Run, type RunOptions, type RunResult } from "./run.ts";
import type { RunBegin, SessionAudit } from "./session-audit.ts";
import type { SharedCell } from "./shared-cell.ts";
import { SnapshotRecovery } from "./snapshot-recovery.ts";

/** How long after a run's own limit the host waits for the supervisor before it ends the whole cell. */
const supervisorGraceMs = 8_000;
const maxCodeBytes = 2 * 1024 * 1024;
const defaultValueBytes = 256 * 1024 * 1024;
const defaultPreviewBytes = 64 * 1024;
const maxGone = 100;

type FoundFiles = Pick<RunResult, "artifacts" | "leftOut">;
const noFiles: FoundFiles = { artifacts: [], leftOut: [] };

export interface SessionParts {
  readonly id: string;
  readonly policy: Policy;
  readonly cell: SharedCell;
  readonly kernel: KernelClient;
  /** notes about what the interpreter lost between two runs; handed to the next result */
  readonly lostNotes: string[];
  readonly onClose: (session: Session) => void;
  /** with an audit only: everything of it is over and written down */
  readonly onClosed?: ((session: Session) => void) | undefined;
  /** somebody has to close it when nobody else does */
  readonly onFork: (fork: Session) => void;
  /** the files of the host directory behind /workspace, where there is one */
  readonly files?: WorkspaceFiles;
  /** absent: nothing is written down */
  readonly audit?: SessionAudit;
}

export interface ReadOptions {
  /** the policy's `proc.timeout` unless told */
  readonly timeoutMs?: number;
  /** what may leave the cell: 256 MiB, and 64 KiB of a preview, unless told */
  readonly maxBytes?: number;
}

/** A frozen copy of the interpreter that can be gone back to. */
export interface Checkpoint {
  readonly name: string;
  /** the last run before it */
  readonly run: number;
  readonly atMs: number;
}

/** Keeps a cell alive and owns its variables: what one run defines, the next one sees. */
export class Session implements AsyncDisposable {
  readonly policy: Policy;
  /** the workspace as the host reaches it; absent: the files live and end with the cell */
  readonly files: WorkspaceFiles | undefined;
  readonly #cell: SharedCell;
  readonly #kernel: KernelClient;
  readonly #lostNotes: string[];
  readonly #onClose: (session: Session) => void;
  readonly #onClosed: ((session: Session) => void) | undefined;
  readonly #onFork: (fork: Session) => void;
  readonly #checkpoints = new Map<string, Checkpoint>();
  /** names of checkpoints that ended by themselves, for the next result to tell */
  readonly #gone = new Set<string>();
  readonly #digests = new HashCache();
  /** where the kernel leaves no copy of the interpreter behind */
  readonly #recovery: SnapshotRecovery | undefined;
  readonly #audit: SessionAudit | undefined;
  #id: string;
  #active: Run | undefined;
  #closing: Promise<void> | undefined;
  /** until variables that were lost between two runs are back */
  #recovering: Promise<void> | undefined;
  /** until what a run used is written down; the cell has to be there for it */
  #auditing: Promise<void> = Promise.resolve();

  constructor(parts: SessionParts) {
    this.#id = parts.id;
    this.policy = parts.policy;
    this.files = parts.files;
    this.#cell = parts.cell;
    this.#kernel = parts.kernel;
    this.#lostNotes = parts.lostNotes;
    this.#onClose = parts.onClose;
    this.#onClosed = parts.onClosed;
    this.#onFork = parts.onFork;
    this.#audit = parts.audit;
    const { features } = parts.kernel.info;
    const needsSnapshots = features.includes("snapshot") && !features.includes("checkpoints");
    const isWanted = parts.policy.session.recovery !== "off";
    this.#recovery = needsSnapshots && isWanted ? new SnapshotRecovery(parts.kernel) : undefined;
  }

  get id(): string {
    return this.#id;
  }

  /** Gives a session that waited in a pool the id it is asked for. */
  rename(id: string): void {
    this.#id = id;
  }

  /** Makes the first run as quick as the later ones; for a session that waits in a pool. */
  rehearse(): Promise<void> {
    return this.#kernel.rehearse();
  }

  get receipt(): EnforcementReceipt {
    return this.#cell.receipt;
  }

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

  get features(): readonly string[] {
    return this.#kernel.info.features;
  }

  get pythonVersion(): string {
    return this.#kernel.info.python;
  }

  /**
   * Starts a run. One at a time: a second one while the first goes on is refused with `session_busy`. `number` is what the
   * audit calls it: a session that comes back goes on counting, and its cell begins at 1.
   */
  run(code: string, options: RunOptions = {}, number = this.#kernel.nextRunId): Run {
    const language = options.language ?? "python";
    this.#assertReady(code, language);
    const timeoutMs = Math.min(options.timeoutMs ?? this.policy.proc.timeoutMs, this.policy.proc.timeoutMs);
    const outputBytes = this.policy.proc.outputBytes;
    const started = performance.now();
    const id = this.#kernel.nextRunId;
    const lost: string[] = [];
    let isBegun = false;
    let isInterrupted = false;
    const interrupt = () => {
      if (isBegun) this.#kernel.interrupt(id);
      else isInterrupted = true;
    };
    const begin = (self: Run) => {
      this.#recovery?.beforeRun();
      const { done } = this.#kernel.run(
        { language, code, timeoutMs, outputBytes },
        {
          onOutput: (stream, bytes) => self.receiveOutput(stream, bytes),
          onDisplay: (part, bytes) => self.receiveDisplay(part, bytes),
          // What is lost after this moment is for the next result to tell.
          onEnd: () => lost.push(...this.#takeNews()),
        },
      );
      isBegun = true;
      if (isInterrupted) interrupt();
      const signal = options.signal ? { signal: options.signal } : {};
      return this.#finish(self, done, { timeoutMs, started, lost, ...signal });
    };
    const { runner } = this.receipt;
    const facts = { session: this.id, run: number, language, runner, code, timeoutMs };
    const run = new Run(id, outputBytes, interrupt, (self) => this.#audited(facts, started, () => begin(self)));
    this.#active = run;
    return run;
  }

  /** Begins a run and writes down that it did, and how it ended. */
  #audited(facts: RunBegin, started: number, begin: () => Promise<RunResult>): Promise<RunResult> {
    const audit = this.#audit;
    if (!audit) return begin();
    if (audit.isDurable) return this.#written(audit, facts, started, this.#beginWritten(audit, facts, begin));
    const ended = begin();
    audit.runStarted(facts); // hashed while the cell is at work
    return this.#written(audit, facts, started, ended);
  }

  /** What cannot be written down for good does not run. */
  async #beginWritten(audit: SessionAudit, facts: RunBegin, begin: () => Promise<RunResult>): Promise<RunResult> {
    let ended: Promise<RunResult>;
    try {
      audit.runStarted(facts);
      await audit.settled();
      ended = begin();
    } catch (error) {
      this.#active = undefined;
      throw error;
    }
    return await ended;
  }

  async #written(
    audit: SessionAudit,
    { session, run }: RunBegin,
    started: number,
    ended: Promise<RunResult>,
  ): Promise<RunResult> {
    const result = await ended.catch((error: unknown) => {
      audit.runFailed(session, run, error, performance.now() - started);
      throw error;
    });
    // Reading what the cell has used takes half as long as a short run: the result goes first.
    this.#auditing = this.#auditing
      .then(() => (audit.isDurable ? undefined : afterThis()))
      .then(() => this.#cell.spent())
      .then(({ usage, cpuBeforeMs }) => audit.runEnded(session, run, result, usage, cpuBeforeMs));
    if (!audit.isDurable) return result;
    await this.#auditing;
    await audit.settled();
    return result;
  }

  /** Names, types, sizes and summaries of the session's variables. */
  variables(): Promise<Variable[]> {
    this.#assertOpen();
    return this.#kernel.variables();
  }

  /** The value of a variable, or of any Python expression, through JSON. What is over the limit stays in the cell. */
  async get(expression: string, options: ReadOptions = {}): Promise<unknown> {
    const data = await this.#read(expression, "json", options);
    try {
      return JSON.parse(data.toString());
    } catch (error) {
      // User code can replace what makes the JSON.
      throw new CodecellError("variable_unserializable", "the cell answered with text that is not JSON", {
        cause: error,
      });
    }
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
    if (value instanceof Uint8Array) return this.setEncoded(name, "bytes", value);
    if (typeof value === "string") return this.setEncoded(name, "text", Buffer.from(value));
    const json = JSON.stringify(value);
    if (json === undefined) throw new CodecellError("variable_unserializable", `the value for ${name} is not JSON`);
    return this.setEncoded(name, "json", Buffer.from(json));
  }

  /** Puts bytes that are already encoded into a variable, as `decodeHostFile` gives them. */
  async setEncoded(name: string, format: "json" | "bytes" | "text", body: Uint8Array): Promise<void> {
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
    this.#haveLastWord("then the interpreter was reset");
  }

  /** Freezes a copy of the interpreter under a name; copy-on-write, so it costs milliseconds whatever it holds. */
  async checkpoint(name: string): Promise<Checkpoint> {
    this.#assertIdle("checkpoints");
    if (!/^[A-Za-z0-9_.-]{1,64}$/.test(name)) {
      throw new CodecellError("usage", `not a checkpoint's name: ${JSON.stringify(name.slice(0, 80))}`, {
        hint: "use 1 to 64 letters, digits, dots, dashes and underscores",
      });
    }
    const { checkpoints: most } = this.policy.session;
    if (!this.#checkpoints.has(name) && this.#checkpoints.size >= most) {
      throw new CodecellError(
        "too_large",
        `there are ${most} checkpoints already, as many as session.checkpoints allows`,
        {
          hint: "forget one first, or raise session.checkpoints",
        },
      );
    }
    this.#tellLossBefore(name);
    this.#gone.delete(name);
    await this.#kernel.checkpoint(name);
    if (this.#gone.delete(name)) {
      throw new CodecellError("cell_lost", `nothing was kept as ${name}: the copy ended as soon as it was made`);
    }
    if (this.#lostNotes.length > 0) {
      // It died while the request was on its way: what was kept is not what the caller has seen.
      this.#checkpoints.delete(name);
      await this.#kernel.forget(name);
      this.#tellLossBefore(name);
    }
    const checkpoint = { name, run: this.runs, atMs: Date.now() };
    this.#checkpoints.set(name, checkpoint);
    return checkpoint;
  }

  /** A checkpoint of a state that its caller does not know of would be a trap: the caller hears of the loss instead. */
  #tellLossBefore(name: string): void {
    if (this.#lostNotes.length === 0) return;
    const notes = this.#lostNotes.splice(0).join(" ");
    throw new CodecellError("cell_lost", `nothing was kept as ${name}: ${notes}`, {
      hint: "look at the variables, and ask again",
    });
  }

  get checkpoints(): Checkpoint[] {
    return [...this.#checkpoints.values()];
  }

  /** Variables as they were at the checkpoint, which stays; files are as they are now. */
  async rollback(name: string): Promise<Checkpoint> {
    this.#assertIdle("checkpoints");
    const checkpoint = this.#known(name);
    await this.#kernel.rollback(name).catch((error: unknown) => {
      if (error instanceof CodecellError && error.code === "checkpoint_unknown") this.#checkpoints.delete(name);
      throw error;
    });
    this.#haveLastWord(`variables are as they were at checkpoint ${name}`);
    return checkpoint;
  }

  async forgetCheckpoint(name: string): Promise<void> {
    this.#assertIdle("checkpoints");
    this.#known(name);
    this.#checkpoints.delete(name);
    await this.#kernel.forget(name);
  }

  /**
   * A second session that starts from this one's variables. It lives in the same cell: it shares the cell's limits, its
   * workspace and its processes' view, and has its own interpreter, runs and checkpoints.
   */
  async fork(id: string): Promise<Session> {
    this.#assertIdle("fork");
    const lostNotes: string[] = [];
    let fork: Session | undefined;
    const kernel = await this.#kernel.fork({
      onLost: (message) => {
        lostNotes.splice(0, Number.POSITIVE_INFINITY, "between two runs:", ...message.notes);
      },
      onGone: (name) => fork?.checkpointGone(name),
    });
    lostNotes.unshift(...this.#lostNotes); // what this one lost before is not in the fork either
    const cell = this.#cell.acquire();
    const { policy, files } = this;
    const [onClose, onClosed, onFork] = [this.#onClose, this.#onClosed, this.#onFork];
    fork = new Session({
      ...{ id, policy, cell, kernel, lostNotes, onClose, onClosed, onFork },
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

  /** What the next result is to tell of a loss before is not how it is now. */
  #haveLastWord(note: string): void {
    if (this.#lostNotes.length > 0) this.#lostNotes.push(note);
  }

  /** The interpreter died between two runs and nothing of it was kept in the cell. */
  interpreterLost(): void {
    this.#recovering = this.#recovery?.recover("between runs").then(({ notes }) => {
      this.#lostNotes.push(...notes);
    });
  }

  /** A checkpoint has ended without anybody's doing here: whoever counts on it hears of it with the next result. */
  checkpointGone(name: string): void {
    this.#checkpoints.delete(name);
    if (this.#gone.size < maxGone) this.#gone.add(name);
  }

  /** What changed between two runs without the caller's doing; told once. */
  #takeNews(): string[] {
    const news = this.#lostNotes.splice(0);
    for (const name of this.#gone) news.push(`checkpoint ${name} is gone: its copy of the interpreter has ended`);
    this.#gone.clear();
    return news;
  }

  /** The host put this file into the workspace itself: as it is, no run made it. */
  given({ path, size, modifiedMs }: { path: string; size: number; modifiedMs: number }): void {
    this.#cell.given.set(path, `${size} ${modifiedMs}`);
  }

  /** Stops the run that goes on, if one does, and waits for its end; what ignores an interrupt is ended. */
  async settle(): Promise<void> {
    await this.#active?.[Symbol.asyncDispose]();
  }

  /** Adds a sentence to the notes of the next result. */
  addNote(note: string): void {
    this.#lostNotes.push(note);
  }

  usage() {
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
      if (this.#audit) await this.#auditing; // the cell knows what it has used as long as it is there
      const isShared = this.#cell.users > 1;
      if (isShared && this.#kernel.isAlive) await this.#kernel.leave().catch(() => {});
      await this.#cell.release();
      if (!this.#audit) return;
      await active?.result.catch(() => {});
      await this.#auditing;
      this.#onClosed?.(this);
    })();
    return this.#closing;
  }

  async #read(expression: string, format: ValueFormat, options: ReadOptions): Promise<Buffer> {
    this.#assertOpen();
    const { maxBytes = defaultValueBytes, timeoutMs = this.policy.proc.timeoutMs } = options;
    return this.#kernel.get(expression, format, { maxBytes, timeoutMs }).catch((error: unknown) => {
      if (!(error instanceof CodecellError) || error.code !== "too_large") throw error;
      const hint = "ask for a part of it, such as x[:1000], or for a summary; preview() gives the beginning";
      throw new CodecellError("too_large", error.message, { hint, cause: error });
    });
  }

  #assertOpen(): void {
    if (this.#closing) throw new CodecellError("session_closed", `session ${this.id} is closed`);
  }

  #assertIdle(feature: string): void {
    this.#assertOpen();
    if (!this.features.includes(feature)) {
      throw new CodecellError("not_supported", `the ${this.receipt.runner} runner has no ${feature}`, {
        hint: "use the process runner",
      });
    }
    if (this.#active) {
      throw new CodecellError("session_busy", `run ${this.#active.id} of session ${this.id} still goes on`, {
        hint: "await its result or interrupt it first",
      });
    }
  }

  #known(name: string): Checkpoint {
    const checkpoint = this.#checkpoints.get(name);
    if (checkpoint) return checkpoint;
    const names = [...this.#checkpoints.keys()].join(", ") || "none";
    throw new CodecellError(
      "checkpoint_unknown",
      `session ${this.id} has no checkpoint named ${JSON.stringify(name.slice(0, 80))}`,
      {
        hint: `it has: ${names}`,
      },
    );
  }

  #assertReady(code: string, language: string): void {
    this.#assertOpen();
    if (this.#active) {
      throw new CodecellError("session_busy", `run ${this.#active.id} of session ${this.id} still goes on`, {
        hint: "await its result, interrupt it, or open a second session",
      });
    }
    if (!this.languages.includes(language)) {
      throw new CodecellError(
        "language_unavailable",
        `${language} is not available in the ${this.receipt.runner} runner`,
        {
          hint: `this session runs ${this.languages.join(" and ")}`,
        },
      );
    }
    const bytes = Buffer.byteLength(code);
    if (bytes > maxCodeBytes) {
      throw new CodecellError("too_large", `the code has ${bytes} bytes, over the limit of ${maxCodeBytes}`, {
        hint: "put large data into a variable with set()",
      });
    }
  }

  async #finish(
    run: Run,
    reply: Promise<DoneMessage>,
    context: { timeoutMs: number; started: number; lost: string[]; signal?: AbortSignal },
  ): Promise<RunResult> {
    const abort = () => run.interrupt();
    if (context.signal?.aborted) abort();
    context.signal?.addEventListener("abort", abort, { once: true });
    let overdue = false;
    // The supervisor ends a run at its limit; this ends the cell when the supervisor itself does not answer.
    const watchdog = setTimeout(() => {
      overdue = true;
      // The cell itself, whoever shares it: a supervisor that is stuck answers nobody's farewell.
      void this.#cell.end().catch(() => {});
      void this[Symbol.asyncDispose]().catch(() => {});
    }, context.timeoutMs + supervisorGraceMs);
    try {
      const done = await this.#ending(run.id, reply, () => overdue);
      clearTimeout(watchdog);
      return await this.#result(run, this.#recovery ? await this.#recovered(done, this.#recovery) : done, context);
    } finally {
      clearTimeout(watchdog);
      context.signal?.removeEventListener("abort", abort);
      this.#active = undefined;
    }
  }

  async #ending(id: number, reply: Promise<DoneMessage>, isOverdue: () => boolean): Promise<DoneMessage> {
    try {
      return await reply;
    } catch (error) {
      return this.#cellEnded(id, error, isOverdue());
    }
  }

  /** The cell died under the run: that is an ending, not an exception, unless the session was closed on purpose. */
  async #cellEnded(id: number, error: unknown, overdue: boolean): Promise<DoneMessage> {
    if (!(error instanceof CodecellError) || error.code !== "cell_lost") throw error;
    const closed = this.#closing !== undefined && !overdue;
    const status: RunStatus = overdue ? "timeout" : closed ? "cancelled" : "crashed";
    const reason = overdue || closed ? undefined : await this.#cell.whyEnded();
    const ended = reason === undefined ? error.message : `${error.message}: ${reason}`;
    const why = overdue ? "the cell did not answer and was ended" : closed ? "the session was closed" : ended;
    if (!closed) void this[Symbol.asyncDispose]().catch(() => {});
    return {
      t: "done",
      id,
      status,
      state: "lost",
      stdoutBytes: 0,
      stderrBytes: 0,
      notes: [why, "the session is over"],
    };
  }

  /** A run that took the interpreter with it: variables come back from the host's snapshot, where one is kept. */
  async #recovered(done: DoneMessage, recovery: SnapshotRecovery): Promise<DoneMessage> {
    if (done.state !== "lost") recovery.changed();
    if (done.state !== "lost" || !this.isAlive) return done;
    const { run, notes } = await recovery.recover("in a run");
    const state = run === undefined ? {} : ({ state: "recovered", recoveredTo: run } as const);
    return { ...done, ...state, notes: [...done.notes, ...notes] };
  }

  async #result(
    run: Run,
    done: DoneMessage,
    context: { started: number; lost: string[]; signal?: AbortSignal },
  ): Promise<RunResult> {
    const durationMs = performance.now() - context.started;
    const gathered = run.gathered();
    // Most runs change no file and have no network: what is not there is not waited for.
    const { files } = this;
    const found = files && done.files?.length ? await this.#artifacts(run.id, files, done.files) : noFiles;
    const egress = this.#cell.network ? await this.#cell.network.take() : undefined;
    if (this.#recovering) await this.#recovering;
    if (this.#recovery || !this.isAlive) context.lost.push(...this.#takeNews());
    return {
      id: run.id,
      status: done.status === "crashed" ? await this.#crashed() : statusOf(done, context.signal),
      state: done.state,
      exitCode: done.exitCode,
      ...gathered,
      result: done.result,
      error: done.error,
      truncated: run.wasTruncated(done) || done.resultTruncated === true,
      stdoutBytes: done.stdoutBytes,
      stderrBytes: done.stderrBytes,
      notes: [...context.lost, ...done.notes, ...(egress ? egressNotes(egress) : [])],
      recoveredTo: done.recoveredTo,
      ...found,
      ...(egress ? { egress } : {}),
      durationMs,
      runner: this.receipt.runner,
      receipt: this.receipt,
    };
  }

  /** What the run says it changed is a hint: the host opens and checks each file itself. */
  #artifacts(run: number, files: WorkspaceFiles, told: readonly ChangedFile[]): Promise<FoundFiles> {
    const { given } = this.#cell;
    const changed = told.filter((file) => given.get(file.path) !== `${file.size} ${file.modifiedMs}`);
    return describeArtifacts(files, changed, {}, { run, cache: this.#digests });
  }

  /** Only the host can tell a memory kill from another SIGKILL: by the kernel's counter, read when a run died. */
  async #crashed(): Promise<RunStatus> {
    return (await this.#cell.struckByMemoryKiller()) ? "out_of_memory" : "crashed";
  }
}

function statusOf({ status }: DoneMessage, signal: AbortSignal | undefined): RunStatus {
  return status === "interrupted" && signal?.aborted ? "cancelled" : status;
}
