import { HashCache } from "../artifacts/hash-cache.ts";
import type { WorkspaceFiles } from "../artifacts/workspace-files.ts";
import type { CellFiles } from "../kernel/cell-files.ts";
import type { ForkInCall, KernelClient, LostMessage } from "../kernel/client.ts";
import type { Inspection, RestoreFailure, ValueFormat, Variable } from "../kernel/messages.ts";
import { parsePreview, type ValuePreview } from "../kernel/value-preview.ts";
import { CodecellError } from "../lib/errors.ts";
import type { LiveChange } from "../policy/change/live-rules.ts";
import type { Authority, PolicyChange } from "../policy/change/merge.ts";
import { defaultLanguage } from "../policy/languages.ts";
import type { Policy } from "../policy/schema.ts";
import type { CellPackages } from "../runners/cell-packages.ts";
import type { CellUsage } from "../runners/cell-usage.ts";
import type { EnforcementReceipt } from "../runners/receipt.ts";
import type { CellDisk } from "../runners/runner.ts";
import { kernelFiles } from "./files/kernel-files.ts";
import type { FunctionTable } from "./functions/function-table.ts";
import type { Checkpoint } from "./interpreter/checkpoint.ts";
import { completionTarget } from "./interpreter/completion-target.ts";
import { type Completions, completionsOf } from "./interpreter/completions.ts";
import { InterpreterLosses } from "./interpreter/interpreter-losses.ts";
import { InterpreterState } from "./interpreter/interpreter-state.ts";
import { namePath } from "./interpreter/name-path.ts";
import type { ReadOptions } from "./interpreter/read-options.ts";
import {
  checkedJson,
  decodeJson,
  defaultValueBytes,
  type EncodedValue,
  encodeValue,
  readValue,
} from "./interpreter/session-values.ts";
import { checkVariableName, isVariableName } from "./interpreter/variable-name.ts";
import type { UsageSample, UsageSamples } from "./lifecycle/usage-samples.ts";
import type { WantedPackages } from "./packages/inside-installs.ts";
import type { CellPolicy } from "./rules/cell-policy.ts";
import type { RunningSession } from "./runs/finish-run.ts";
import type { LiveRunOptions } from "./runs/live-run-options.ts";
import { LiveRuns } from "./runs/live-runs.ts";
import { Run, type RunProgress, type RunResult } from "./runs/run.ts";
import { RunAudit } from "./runs/run-audit.ts";
import type { SessionAudit } from "./session-audit.ts";
import type { SharedCell } from "./shared-cell.ts";
import { restoreVariables } from "./storage/restore-variables.ts";

const completeMs = 2_000;
const inspectMs = 10_000;

/** @internal */
export interface LiveSessionParts {
  readonly id: string;
  readonly cell: SharedCell;
  readonly kernel: KernelClient;
  /** what the interpreter lost between two runs; the next result reports it */
  readonly losses: InterpreterLosses;
  readonly onClose: (session: LiveSession) => void;
  /** called only with an audit: when the session has ended and everything is recorded */
  readonly onClosed?: ((session: LiveSession) => void) | undefined;
  /** called with each fork, so that it is closed with the others */
  readonly onFork: (fork: LiveSession) => void;
  /** the files of /workspace, if the host can access them */
  readonly files?: WorkspaceFiles;
  /** no directory of the host holds them: they end with the cell */
  readonly filesStayInCell: boolean;
  /** absent: nothing is recorded */
  readonly audit?: SessionAudit;
  /** prepares what a program wants installed; absent: programs install nothing */
  readonly preparePackages?: ((wanted: WantedPackages) => Promise<CellPackages>) | undefined;
}

/** A session in its cell. Its interpreter keeps variables from one run to the next. */
export class LiveSession implements AsyncDisposable {
  /** the workspace, as the host accesses it; absent: the host cannot */
  readonly files: WorkspaceFiles | undefined;
  /** no directory of the host holds its files: they end with the cell */
  readonly filesStayInCell: boolean;
  /** @internal what was kept and lost of its variables between runs */
  readonly interpreter: InterpreterState;
  readonly #parts: LiveSessionParts;
  readonly #cell: SharedCell;
  readonly #kernel: KernelClient;
  readonly #losses: InterpreterLosses;
  readonly #runAudit: RunAudit | undefined;
  readonly #runs: LiveRuns;
  #functions: FunctionTable | undefined;
  #id: string;
  #closing: Promise<void> | undefined;

  /** @internal */
  constructor(parts: LiveSessionParts) {
    const { cell, files, kernel, losses, audit } = parts;
    this.#parts = parts;
    this.#id = parts.id;
    this.files = files;
    this.filesStayInCell = parts.filesStayInCell;
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

  /** @internal Gives a session from the pool the id that the caller wants. */
  rename(id: string): void {
    this.#id = id;
  }

  /** @internal Makes the first run as fast as later ones; for a session in the pool. */
  rehearse(): Promise<void> {
    return this.#kernel.rehearse();
  }

  /** @internal Files that no directory of the host holds, as its kernel serves them. */
  get cellFiles(): CellFiles | undefined {
    return this.files && this.filesStayInCell ? this.#kernel.files : undefined;
  }

  /** @internal Changes when the files are lost with the interpreter, in cells that keep them in its memory. */
  get filesAge(): number {
    return this.features.includes("checkpoints") ? 0 : this.#kernel.freshStarts;
  }

  /** The policy that applies now. */
  get policy(): Policy {
    return this.#cell.rules.policy;
  }

  /** @internal The policy and its changes. Forks share it, as they share the cell. */
  get rules(): CellPolicy {
    return this.#cell.rules;
  }

  /**
   * Changes network rules, within the policy that the session was opened under. When this returns, the rules are enforced
   * and connections that they do not allow are closed.
   */
  async updatePolicy(change: LiveChange, authority: Authority = "host"): Promise<readonly PolicyChange[]> {
    this.#assertOpen();
    return this.rules.change(change, authority, async (coming) =>
      this.#parts.audit?.policyChanging(authority, coming, this.id),
    );
  }

  /** What enforces each rule of its policy. */
  get receipt(): EnforcementReceipt {
    return this.#cell.receipt;
  }

  /** The languages that `run` accepts. */
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

  /** @internal The session's run whose final state the variables have. Undefined: a crash lost everything. */
  get stateRun(): number | undefined {
    return this.#runs.stateRun;
  }

  /** @internal What the next result will report, and whether it includes a crash that the caller has not seen. */
  get losses(): Pick<InterpreterLosses, "notes" | "isUnseen" | "take"> {
    return this.#losses;
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
    return new Run((progress) => this.#perform(progress, this.#kernel.nextRunId, code, options));
  }

  /** @internal The work behind a run; the audit calls it `number`. */
  perform(progress: RunProgress, number: number, code: string, options: LiveRunOptions): Promise<RunResult> {
    this.#assertReady(code, options);
    return this.#perform(progress, number, code, options);
  }

  #perform(progress: RunProgress, number: number, code: string, options: LiveRunOptions): Promise<RunResult> {
    const { functions } = options;
    // The kernel handles messages in order: the run that follows already has the new functions.
    if (functions && functions !== this.#functions) this.#expose(functions);
    return this.#runs.start(progress, number, code, options);
  }

  #expose(functions: FunctionTable): void {
    if (!this.features.includes("calls")) {
      throw new CodecellError("not_supported", "this cell's kernel cannot call functions of the host");
    }
    this.#functions = functions;
    // A cell that does not answer fails the run too.
    this.#kernel.expose(functions.specs, functions.answer).catch(() => {});
  }

  /** @internal The session's number of a run that its cell numbers `id`. */
  runNumber(id: number): number {
    return this.#runs.numberOf(id);
  }

  /** @internal Packages that a program asks for, under the rules of the policy. */
  async preparePackages(wanted: WantedPackages): Promise<CellPackages> {
    const { preparePackages } = this.#parts;
    if (preparePackages) return preparePackages(wanted);
    throw new CodecellError("not_supported", "packages cannot be installed from inside this session");
  }

  /** Names, types, sizes and summaries of the session's variables. */
  variables(): Promise<Variable[]> {
    this.#assertOpen();
    return this.#kernel.variables();
  }

  /** The value of a variable, or of any Python expression, through JSON. A value over the limit is not sent. */
  async get(expression: string, options: ReadOptions = {}): Promise<unknown> {
    return decodeJson(await this.#read(expression, "json", options));
  }

  /** @internal The same as JSON in UTF-8, which was checked and not parsed. */
  async getJson(expression: string, options: ReadOptions = {}): Promise<Buffer> {
    return checkedJson(await this.#read(expression, "json", options));
  }

  /** The bytes of a bytes-like or text variable, without base64. */
  getBytes(name: string, options: ReadOptions = {}): Promise<Buffer> {
    return this.#read(name, "bytes", options);
  }

  /** The beginning of a value as text, whatever its size: JSON, or the repr of what JSON cannot hold. */
  async preview(expression: string, options: ReadOptions = {}): Promise<ValuePreview> {
    return parsePreview(await this.#read(expression, "preview", options));
  }

  /** What the code before the cursor can be completed with. No code of the session runs. */
  async complete(code: string, cursor = code.length): Promise<Completions> {
    this.#assertOpen();
    // A request would wait for the run, and the person at the prompt with it.
    this.#runs.assertIdle("complete again when it has ended");
    const target = completionTarget(code, cursor);
    if (!target) return completionsOf(undefined, cursor);
    const { kind, path, prefix } = target;
    return completionsOf(target, cursor, await this.#kernel.complete({ kind, path, prefix }, completeMs));
  }

  /** What is known of a dotted name: type, signature, docstring; undefined: there is no such name. */
  async inspect(name: string, options: { readonly source?: boolean } = {}): Promise<Inspection | undefined> {
    this.#assertOpen();
    this.#runs.assertIdle("inspect again when it has ended");
    const timeoutMs = Math.min(inspectMs, this.policy.proc.timeoutMs);
    return (await this.#kernel.inspect(namePath(name), options.source ?? false, timeoutMs)) ?? undefined;
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
    checkVariableName(name);
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

  /** Restores the variables of a checkpoint, which stays. Files do not change. */
  async rollback(name: string): Promise<Checkpoint> {
    this.#assertIdle("checkpoints");
    const checkpoint = await this.interpreter.checkpoints.goBackTo(this.id, name);
    this.#losses.followedBy(`variables are as they were at checkpoint ${name}`);
    return checkpoint;
  }

  /** Restores the variables from before the last run. Files do not change. */
  async undo(): Promise<{ readonly run: number; readonly left: number }> {
    this.#assertOpen();
    if (!this.features.includes("checkpoints")) {
      const message = `the ${this.receipt.runner} runner does not support undo: it cannot copy an interpreter`;
      throw new CodecellError("not_supported", message, { hint: "use the process runner" });
    }
    assertUndo(this.policy);
    this.#runs.assertIdle("await its result or interrupt it first");
    const run = await this.interpreter.undo.undo(this.id);
    this.#losses.followedBy(`variables are as they were before run ${run}`);
    return { run, left: this.interpreter.undo.left };
  }

  /** Deletes a checkpoint and frees its memory. */
  async forgetCheckpoint(name: string): Promise<void> {
    this.#assertIdle("checkpoints");
    await this.interpreter.checkpoints.forget(this.id, name);
  }

  /**
   * A second session that starts with this one's variables, in the same cell. They share the cell's limits, workspace and
   * view of processes. Each has its own interpreter, runs and checkpoints. With `inCall`, it starts in the middle of a run
   * that waits for the answer to this call.
   */
  async fork(id: string, inCall?: ForkInCall): Promise<LiveSession> {
    if (inCall) this.#assertSupports("fork");
    else this.#assertIdle("fork");
    const losses = new InterpreterLosses();
    let fork: LiveSession | undefined;
    const events = {
      onLost: ({ notes }: LostMessage) => {
        losses.happenedBetweenRuns(notes);
        fork?.lostBetweenRuns();
      },
      onGone: (name: string) => fork?.interpreter.copyEnded(name),
    };
    const kernel = await this.#kernel.fork(events, inCall);
    losses.inherit(this.#losses);
    // over its own interpreter: this session may be closed before the fork
    const files = this.files && this.filesStayInCell ? { files: kernelFiles(kernel.files) } : {};
    fork = new LiveSession({ ...this.#parts, ...files, id, kernel, losses, cell: this.#cell.acquire() });
    this.#parts.onFork(fork);
    return fork;
  }

  /** @internal Counts a memory kill that ended the interpreter between two runs, or the next crash would be blamed on it. */
  lostBetweenRuns(): void {
    void this.#cell.struckByMemoryKiller();
  }

  /** What it asked of the network lately; undefined: it has none. */
  get networkLog() {
    return this.#parts.cell.network?.log.list(this.id);
  }

  /** How many sessions live in this one's cell, itself included. */
  get sharers(): number {
    return this.#cell.users;
  }

  /** All variables as bytes, for `restore`. The cell makes the bytes, and the host never interprets them. */
  snapshot(options: { maxBytes?: number; timeoutMs?: number } = {}): Promise<Buffer> {
    this.#assertIdle("snapshot");
    const { maxBytes = defaultValueBytes, timeoutMs = this.policy.proc.timeoutMs } = options;
    // The value and its bytes are in memory together: with a larger value the OOM killer would kill the interpreter.
    const maxValueBytes = Math.floor(this.policy.proc.memoryBytes / 3);
    return this.#kernel.snapshot({ maxBytes, timeoutMs, maxValueBytes });
  }

  /** Restores the variables of a snapshot, and returns those that could not be restored. */
  async restore(snapshot: Uint8Array, options: { timeoutMs?: number; run?: number } = {}): Promise<RestoreFailure[]> {
    this.#assertIdle("snapshot");
    const notes = [...this.#losses.notes];
    const failures = await restoreVariables(this.#kernel, snapshot, options.timeoutMs);
    // The deaths of interpreters that only looked for the value that ends them are no news.
    if (this.#losses.isUnseen) {
      this.#losses.take();
      this.#losses.add(...notes);
    }
    if (options.run !== undefined) this.#runs.startsAfter(options.run);
    this.interpreter.recovery?.changed();
    return failures;
  }

  /** @internal The host uploaded this file: in this state it is no artifact of a run. */
  given({ path, size, modifiedMs }: { path: string; size: number; modifiedMs: number }): void {
    this.#cell.given.set(path, `${size} ${modifiedMs}`);
  }

  /** @internal The size limit of the workspace, if the file system does not enforce it. */
  get disk(): CellDisk | undefined {
    return this.#cell.disk;
  }

  /** @internal Interrupts the active run and waits for its end. A run that ignores the interrupt is killed. */
  settle(): Promise<void> {
    return this.#runs.stop();
  }

  /** @internal Adds a sentence to the notes of the next result. */
  addNote(note: string): void {
    this.#losses.add(note);
  }

  /** @internal The same for the loss of what the caller last saw: saves and checkpoints are refused until it is told. */
  addLoss(note: string): void {
    this.#losses.addLoss(note);
  }

  /** What the whole cell uses now, as far as the runner can tell. */
  usage(): Promise<CellUsage> {
    return this.#cell.usage();
  }

  /** @internal What the cell used over time. */
  get samples(): UsageSamples {
    return this.#cell.samples;
  }

  /** @internal Adds a sample of what the cell uses now. */
  measure(): Promise<UsageSample | undefined> {
    return this.#cell.measure();
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
      await this.#runAudit?.settled; // usage can be read only while the cell exists
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
    // An expression is code. The attack: one with a longer timeout runs code for longer than the policy allows.
    const timeoutMs = Math.min(options.timeoutMs ?? Number.POSITIVE_INFINITY, this.policy.proc.timeoutMs);
    const read = () => readValue(this.#kernel, expression, format, { ...options, timeoutMs });
    const { audit } = this.#parts;
    if (!audit || isVariableName(expression)) return read();
    // The attack: code that leaves no trace, because it is called an expression.
    const { runner, policyHash: policy } = this.receipt;
    return audit.expression({ session: this.id, runner, policy, code: expression, timeoutMs }, read);
  }

  #assertOpen(): void {
    if (this.#closing) throw new CodecellError("session_closed", `session ${this.id} is closed`);
  }

  #assertIdle(feature: string): void {
    this.#assertSupports(feature);
    this.#runs.assertIdle("await its result or interrupt it first");
  }

  #assertSupports(feature: string): void {
    this.#assertOpen();
    if (!this.features.includes(feature)) {
      const message = `the ${this.receipt.runner} runner does not support ${feature.replace(/s?$/, "s")}`;
      throw new CodecellError("not_supported", message, { hint: "use the process runner" });
    }
  }

  #assertReady(code: string, { language = defaultLanguage }: LiveRunOptions): void {
    this.#assertOpen();
    this.#runs.assertReady(code, language);
  }
}

/** @internal Throws unless the policy keeps copies to undo runs. */
export function assertUndo({ session }: Policy): void {
  if (session.undo > 0) return;
  throw new CodecellError("not_supported", "no run can be undone under this policy", {
    hint: "set session.undo in the policy to the number of runs that can be undone",
  });
}
