import { setImmediate as afterThis } from "node:timers/promises";
import { SerialQueue } from "../../lib/serial-queue.ts";
import type { RunBegin, SessionAudit } from "../session-audit.ts";
import type { SharedCell } from "../shared-cell.ts";
import type { RunResult } from "./run.ts";

/** A run as its session starts it. */
export interface RunWork {
  begin(): Promise<RunResult>;
  /** it may not begin after all */
  drop(): void;
}

/** Writes down that the runs of a session began, how they ended, and what they used. */
export class RunAudit {
  readonly #audit: SessionAudit;
  readonly #cell: SharedCell;
  readonly #looks = new SerialQueue();

  constructor(audit: SessionAudit, cell: SharedCell) {
    this.#audit = audit;
    this.#cell = cell;
  }

  /** Until it is known what the last run used; the cell has to be there for it. */
  get settled(): Promise<unknown> {
    return this.#looks.settled();
  }

  run(facts: RunBegin, started: number, work: RunWork): Promise<RunResult> {
    if (this.#audit.isDurable) return this.#written(facts, started, this.#beginWritten(facts, work));
    const ended = work.begin();
    this.#audit.runStarted(facts); // hashed while the cell is at work
    return this.#written(facts, started, ended);
  }

  /** What cannot be written down for good does not run. */
  async #beginWritten(facts: RunBegin, work: RunWork): Promise<RunResult> {
    let ended: Promise<RunResult>;
    try {
      this.#audit.runStarted(facts);
      await this.#audit.settled();
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
    // The result goes first, and what the cell has used is looked up behind it.
    const spent = this.#looks.run(async () => {
      if (!audit.isDurable) await afterThis();
      return this.#cell.spent();
    });
    audit.runEnded(session, run, result, spent);
    if (audit.isDurable) await audit.settled();
    return result;
  }
}
