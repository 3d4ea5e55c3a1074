import { setImmediate as afterThis } from "node:timers/promises";
import { SerialQueue } from "../../lib/serial-queue.ts";
import type { RunBegin, SessionAudit } from "../session-audit.ts";
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
  readonly #looks = new SerialQueue();

  constructor(audit: SessionAudit, cell: SharedCell) {
    this.#audit = audit;
    this.#cell = cell;
  }

  /** Settles when the usage of the last run is known. The cell must exist until then. */
  get settled(): Promise<unknown> {
    return this.#looks.settled();
  }

  run(facts: RunBegin, started: number, work: RunWork): Promise<RunResult> {
    if (this.#audit.isDurable) return this.#written(facts, started, this.#beginWritten(facts, work));
    const ended = work.begin();
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
    const result = await ended.catch((error: unknown) => {
      audit.runFailed(session, run, error, performance.now() - started);
      throw error;
    });
    // The caller gets the result first; the cell's usage is read afterwards.
    const spent = this.#looks.run(async () => {
      if (!audit.isDurable) await afterThis();
      return this.#cell.spent();
    });
    audit.runEnded(session, run, result, spent);
    if (audit.isDurable) await audit.settled(session);
    return result;
  }
}
