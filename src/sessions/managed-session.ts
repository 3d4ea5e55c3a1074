import type { ForkInCall } from "../kernel/client.ts";
import { CodecellError } from "../lib/errors.ts";
import { policyInForce, type RequestedRules } from "../policy/change/live-rules.ts";
import type { Policy } from "../policy/schema.ts";
import type { CallingSession } from "./functions/function-table.ts";
import type { HostFunctions } from "./functions/host-function.ts";
import { SessionFunctions } from "./functions/session-functions.ts";
import { SessionLineage } from "./lineage/session-lineage.ts";
import type { LiveSession } from "./live-session.ts";
import type { NetworkEntry } from "./network/network-log.ts";
import { SessionRuns } from "./runs/session-runs.ts";
import type { Session } from "./session.ts";
import type { SessionAudit } from "./session-audit.ts";
import { SessionCell } from "./session-cell.ts";
import { sessionClosed, sessionExpired } from "./session-errors.ts";
import { shownId } from "./session-id.ts";
import type { SessionInfo, SessionState } from "./session-info.ts";
import type { SessionRecord, SnapshotInfo } from "./storage/session-record.ts";
import { lossBefore, type RestoreReport, SessionSaves, unreported } from "./storage/session-saves.ts";
import type { HeldSession, SessionStorage } from "./storage/session-storage.ts";

/** @internal */
export interface ManagedSessionParts {
  readonly record: SessionRecord;
  /** the operator's policy, as it is now */
  readonly operatorPolicy: () => Policy;
  /** the runner of the next cell */
  readonly nextRunner: () => string;
  readonly store: SessionStorage;
  /** wall-clock milliseconds */
  readonly now: () => number;
  /** absent: nothing is recorded */
  readonly audit: SessionAudit | undefined;
  /** starts a cell for the session, with its saved state if there is one */
  readonly revive: (session: ManagedSession) => Promise<LiveSession>;
  /** forks the session in the middle of a run, which waits for the answer to a call */
  readonly forkInCall: (session: ManagedSession, inCall: ForkInCall) => Promise<Session>;
}

/** A session as its codecell manages it: its record, its cell, its saves, and its way from one cell to the next. */
export class ManagedSession {
  readonly store: SessionStorage;
  readonly audit: SessionAudit | undefined;
  readonly cell: SessionCell;
  readonly saves: SessionSaves;
  readonly runs: SessionRuns;
  /** what its programs may call on the host */
  readonly functions: SessionFunctions;
  /** what happened to its variables */
  readonly lineage: SessionLineage;
  readonly #parts: ManagedSessionParts;
  /** its `usedMs` and `runs` may be outdated; see `record` */
  #record: SessionRecord;
  #usedMs: number;
  #runCount: number;
  #usedAt = performance.now();
  /** how many calls are changing variables */
  #changing = 0;
  /** resets that are under way: a cell that starts meanwhile gets no variables */
  #resets = 0;
  #restored: RestoreReport | undefined;
  #lostNote: string | undefined;
  #held: HeldSession | undefined;

  constructor(parts: ManagedSessionParts, live?: LiveSession) {
    this.#parts = parts;
    this.#record = parts.record;
    this.#usedMs = parts.record.usedMs;
    this.#runCount = parts.record.runs;
    this.store = parts.store;
    this.audit = parts.audit;
    const onUse = () => this.touch();
    const start = () => parts.revive(this);
    const onRequested = (rules: RequestedRules) => this.#keepRequested(rules);
    this.cell = new SessionCell({ start, onUse, onRequested }, live);
    this.saves = new SessionSaves(this, parts.store, parts.operatorPolicy(), parts.now);
    const calling: CallingSession = {
      id: () => this.id,
      runNumber: (ofCell) => this.live?.runNumber(ofCell) ?? ofCell,
      fork: (inCall) => parts.forkInCall(this, inCall),
      record: (call) => this.audit?.audit.record({ type: "function.called", session: this.key, ...call }),
    };
    const { inside } = parts.operatorPolicy().kernel.packages;
    this.functions = new SessionFunctions(calling, inside ? () => this.#installs() : undefined);
    this.lineage = new SessionLineage(this, parts.now);
    this.runs = new SessionRuns(this);
  }

  /** `%pip install`: loaded only where the policy opens it. */
  async #installs(): Promise<HostFunctions> {
    const { insideInstalls } = await import("./packages/inside-installs.ts");
    return insideInstalls({
      prepare: async (wanted) => (await this.cell.session()).preparePackages(wanted),
      diskBytes: () => this.policy.proc.diskBytes,
    });
  }

  /** What the disk keeps of it. Made when it is asked for: each run changes it several times. */
  get record(): SessionRecord {
    const [usedMs, runs] = [this.#usedMs, this.#runCount];
    if (this.#record.usedMs !== usedMs || this.#record.runs !== runs) this.#record = { ...this.#record, usedMs, runs };
    return this.#record;
  }

  set record(record: SessionRecord) {
    this.#record = record;
    this.#usedMs = record.usedMs;
    this.#runCount = record.runs;
  }

  /** How many runs it has had, over all its cells. */
  get runCount(): number {
    return this.#runCount;
  }

  set runCount(count: number) {
    this.#runCount = count;
  }

  /** The id that callers use: without the namespace of a tenant. */
  get id(): string {
    return shownId(this.#record.id);
  }

  /** The id that the codecell and the disk use. */
  get key(): string {
    return this.#record.id;
  }

  /** Where what is kept of it is written. Only a persistent session has one. */
  get held(): HeldSession {
    if (this.#held) return this.#held;
    throw new CodecellError("internal", `session ${this.id} is not held by this process: nothing of it can be written`);
  }

  /** This process holds the session from now on. Who opened it gives it back. */
  hold(held: HeldSession): void {
    this.#held = held;
  }

  /** The session in its cell; undefined: no cell has started. */
  get live(): LiveSession | undefined {
    return this.cell.live;
  }

  /** The policy of its cell, or of the next one. */
  get policy(): Policy {
    return this.live?.policy ?? policyInForce(this.#parts.operatorPolicy(), this.#record.asked ?? {});
  }

  /** The runner of its cell, or the one that its next cell is expected in. */
  get runner(): string {
    return this.live?.receipt.runner ?? this.#parts.nextRunner();
  }

  get usedMs(): number {
    return this.#usedMs;
  }

  /** The same by the clock of `performance`, which does not jump. */
  get usedAt(): number {
    return this.#usedAt;
  }

  get restored(): RestoreReport | undefined {
    return this.#restored;
  }

  get isBusy(): boolean {
    const isUsed = this.runs.isBusy || this.#changing > 0 || this.live?.isBusy === true;
    return isUsed || this.cell.isStarting || this.saves.isSaving;
  }

  get state(): SessionState {
    if (this.cell.isClosed) return "closed";
    return this.live?.isAlive ? "live" : "saved";
  }

  get info(): SessionInfo {
    const { id, createdMs, usedMs, runs, snapshot } = this.record;
    return {
      ...{ id, state: this.state, isBusy: this.isBusy, createdMs, usedMs, runs, snapshot },
      runner: this.runner,
      isPersistent: this.policy.session.persist,
      checkpoints: this.live?.checkpoints ?? [],
      sharers: this.live?.sharers ?? 0,
      policyHash: this.live?.receipt.policyHash,
    };
  }

  /** The last decisions about its network, and how many older ones are gone. They are kept as long as its cell. */
  get networkLog(): { readonly entries: readonly NetworkEntry[]; readonly dropped: number } {
    return this.live?.networkLog ?? { entries: [], dropped: 0 };
  }

  /** The session was used: its idle time starts again. */
  touch(): void {
    this.#usedAt = performance.now();
    this.#usedMs = this.#parts.now();
  }

  /** A session that waited in a pool gets its id, and its life starts. */
  begin(id: string): void {
    const nowMs = this.#parts.now();
    this.#usedAt = performance.now();
    this.record = { ...this.record, id, createdMs: nowMs, usedMs: nowMs };
  }

  /** A fork has variables from the start, and none of them is saved. */
  async begunFromAnother(): Promise<void> {
    await this.saves.changing();
    this.saves.changed();
  }

  /** Forgets the variables. A cell that has to be started for it gets only the files of the save, which may be one that cannot be loaded. */
  async reset(): Promise<void> {
    this.#resets++;
    try {
      await this.changeVariables(async (live) => {
        await live.reset();
        this.lineage.reset();
        this.audit?.audit.record({ type: "session.reset", session: this.key });
      });
    } finally {
      this.#resets--;
    }
  }

  /** Marks the last save as outdated before variables change, and plans the next one. */
  async changeVariables<Result>(change: (live: LiveSession) => Promise<Result>): Promise<Result> {
    this.#changing++;
    try {
      const live = await this.cell.session();
      await this.saves.changing();
      const result = await change(live);
      this.saves.changed();
      return result;
    } finally {
      this.#changing--;
    }
  }

  /** Files that only the cell holds are saved with the variables: a change of them is one of the session's state. */
  changeFiles<Result>(live: LiveSession, change: () => Promise<Result>): Promise<Result> {
    return live.filesStayInCell ? this.changeVariables(change) : change();
  }

  /** Writes the variables to disk. */
  async save(): Promise<SnapshotInfo> {
    if (!this.policy.session.persist) {
      // Nobody would find the save or remove it, and the id may be that of a session which somebody else saved.
      throw new CodecellError("not_supported", "sessions are not persistent under this policy", {
        hint: "set session.persist in the policy",
      });
    }
    const live = await this.cell.session();
    if (live.losses.isUnseen) throw lossBefore(this.id, live, this.record);
    return this.saves.save(live);
  }

  /** Saves what changed and ends the cell. A run that has begun is part of the save, and one that comes later is refused. */
  async suspend(why?: string): Promise<void> {
    this.cell.refuse(this.#endedBy(why));
    this.saves.stop();
    await this.runs.sent();
    const { live } = this;
    if (!live) return;
    await live.settle();
    if (this.policy.session.persist) await this.#saveLast(live);
    await this.cell.release();
  }

  /** Saves what the last save lacks. After a crash, the save may be newer than the variables: then it stays. */
  async #saveLast(live: LiveSession): Promise<void> {
    await live.interpreter.recovering;
    const canSave = live.isAlive && live.features.includes("snapshot");
    const isWorthSaving = canSave && this.saves.isWorthSaving(live);
    if (isWorthSaving && this.saves.isDirty) await this.saves.save(live);
    else await this.held.write({ ...this.record, ...(isWorthSaving ? unreported(live) : { isEnded: true }) });
    // The mark stays if the save lacks a change: who opens the session next is told.
    if (isWorthSaving && !this.saves.isDirty) await this.saves.mark(false);
  }

  /** Ends the cell for good. If the session expired, later calls are told why. */
  async end(why?: string): Promise<void> {
    this.saves.stop();
    await this.cell.close(this.#endedBy(why));
    await Promise.all([this.runs.written(), this.saves.marked]);
  }

  #endedBy(why: string | undefined): CodecellError {
    return why === undefined ? sessionClosed(this.id) : sessionExpired(this.id, why, this.policy.session.persist);
  }

  /** Restores the variables of the last save in a fresh cell. The next result says what could not be restored. */
  async restoreInto(live: LiveSession): Promise<void> {
    const lostNote = this.#lostNote;
    const isUnsaved = lostNote !== undefined && (await this.store.isUnsaved(this.key));
    const report = await this.saves.restoreInto(live, { filesOnly: this.#resets > 0 });
    if (lostNote !== undefined) {
      // afterwards: a restore forgets what the interpreter lost before
      if (isUnsaved) live.addLoss(lostNote);
      else live.addNote(lostNote);
      this.#lostNote = undefined;
    }
    if (report && !report.problem) this.lineage.restored(report.snapshot.run);
    else if (this.record.runs > 0) this.lineage.restored(0);
    if (!report) return;
    this.#restored = report;
    const { snapshot, failed, problem } = report;
    this.audit?.sessionRestored(this.key, snapshot.run, [...snapshot.skipped, ...failed], problem);
  }

  /** The process that had it was lost. The next cell's first result says so. */
  adopted(note: string): void {
    this.#lostNote = note;
  }

  /** Keeps the requested rules for the cells to come. */
  async #keepRequested(requestedRules: RequestedRules): Promise<void> {
    this.record = { ...this.record, asked: requestedRules };
    if (!this.#parts.operatorPolicy().session.persist) return;
    await this.saves.settled(); // a save writes the record as it was when it began
    await this.held.write(this.record);
  }
}
