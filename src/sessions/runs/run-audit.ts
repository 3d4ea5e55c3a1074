import { SerialQueue } from "../../lib/waiting/serial-queue.ts";
import type { RunBegin, SessionAudit, Spent } from "../session-audit.ts";
import type { SharedCell } from "../shared-cell.ts";
import type { RunResult } from "./run.ts";

/** A run as its session starts it. */
export interface RunWork {
  begin(): Promise<RunResult>;
  /** the run does not start after all */
  drop(): void;
}

/** Records how the runs of a session start and end, and what they use. */
export class RunAudit {
  readonly #audit: SessionAudit;
  readonly #cell: SharedCell;
  /** one at a time: each compares with the one before */
  readonly #looks = new SerialQueue();
  /** the same, from the end of their runs on */
  readonly #coming = new SerialQueue();

  constructor(audit: SessionAudit, cell: SharedCell) {
    this.#audit = audit;
    this.#cell = cell;
  }

  /** Settles when the usage of the last run is known. The cell must exist until then. */
  get settled(): Promise<unknown> {
    return this.#coming.settled();
  }

  /** `describe` is called once. */
  run(describe: () => RunBegin, started: number, work: RunWork): Promise<RunResult> {
    if (this.#audit.isDurable) {
      const facts = describe();
      return this.#written(facts, started, this.#beginWritten(facts, work));
    }
    const ended = work.begin();
    const facts = describe();
    this.#audit.runStarted(facts); // the code is hashed while the cell works
    return this.#written(facts, started, ended);
  }

  /** Refuses a run whose start cannot be recorded durably. */
  async #beginWritten(facts: RunBegin, work: RunWork): Promise<RunResult> {
    let ended: Promise<RunResult>;
    try {
      this.#audit.runStarted(facts);
      await this.#audit.settled(facts.session);
      ended = work.begin();
    } catch (error) {
      work.drop();
      throw error;
    }
    return await ended;
  }

  async #written({ session, run }: RunBegin, started: number, ended: Promise<RunResult>): Promise<RunResult> {
    const audit = this.#audit;
    let result: RunResult;
    try {
      result = await ended;
    } catch (error) {
      audit.runFailed(session, run, error, performance.now() - started);
      throw error;
    }
    const spent = this.#spent(audit.isDurable);
    audit.runEnded(session, run, result, spent);
    if (audit.isDurable) await audit.settled(session);
    return result;
  }

  /** What the run used. The caller gets the result first, unless it waits for the audit; the cell's usage is read afterwards. */
  #spent(isAwaited: boolean): Promise<Spent> {
    const look = () => this.#looks.run(() => this.#cell.spent());
    const spent = isAwaited ? look() : new Promise<Spent>((resolve) => setImmediate(() => resolve(look())));
    this.#coming.follow(spent);
    return spent;
  }
}
