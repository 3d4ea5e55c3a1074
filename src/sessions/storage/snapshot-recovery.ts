import type { KernelClient } from "../../kernel/client.ts";
import { messageOf } from "../../lib/errors.ts";
import { readManifest } from "./snapshot-manifest.ts";

const maxBytes = 32 * 1024 * 1024;
/** Items in containers: more would take too long to make bytes of, and nothing can interrupt that. */
const maxItems = 200_000;
/** A run may wait for it: values whose own code does not end are interrupted. */
const timeoutMs = 500;
/** Long, because a snapshot that is ended by force costs the very state that it was to keep. */
const graceMs = 5_000;
const restoreTimeoutMs = 30_000;
const idleMs = 30;
/** Without idle time one is made before a run, when this many times its cost has passed since the last. */
const restFactor = 20;
const slowMs = 200;
/** How long none is made after one that was slow or failed. */
const restMs = 60_000;
const maxNamesTold = 20;

interface Kept {
  readonly run: number;
  /** absent: the interpreter was fresh */
  readonly data?: Buffer;
  readonly skipped: readonly { name: string; reason: string }[];
}

/** What came of bringing variables back: the run whose end state they are from, or nothing; and sentences about it. */
export interface Recovered {
  readonly run: number | undefined;
  readonly notes: readonly string[];
}

/**
 * Keeps the variables of an interpreter that cannot leave a frozen copy of itself behind: as bytes, made inside the cell
 * in idle time, put back after the interpreter was lost. What does not pickle is named, and files are not part of it.
 */
export class SnapshotRecovery {
  readonly #kernel: KernelClient;
  #kept: Kept = { run: 0, skipped: [] };
  /** counts fresh interpreters: a snapshot of one is not for the next */
  #age = 0;
  /** the variables may be other than what is kept */
  #isStale = false;
  #problem: string | undefined;
  #costMs = 0;
  #keptAt = 0;
  #restUntil = 0;
  #taking: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isRestoring = false;

  constructor(kernel: KernelClient) {
    this.#kernel = kernel;
  }

  /** The variables may have changed: they are kept when nothing else is asked for a while. */
  changed(): void {
    this.#isStale = true;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => (this.#kernel.isIdle ? this.#take() : this.changed()), idleMs).unref();
  }

  /** The interpreter is fresh: there is nothing to keep, and nothing older is to come back. */
  begunAnew(): void {
    this.stop();
    this.#age++;
    this.#kept = { run: this.#latestRun, skipped: [] };
    this.#isStale = false;
    this.#problem = undefined;
    this.#restUntil = 0;
  }

  /** The first snapshot is worth waiting for, and so is one that costs little for the time since the last. */
  beforeRun(): void {
    clearTimeout(this.#timer);
    const isDue = performance.now() - this.#keptAt >= restFactor * this.#costMs;
    if (this.#isStale && (this.#kept.data === undefined || isDue)) this.#take();
  }

  /** Puts the variables back into the interpreter that took the lost one's place. */
  async recover(diedWhen: "in a run" | "between runs"): Promise<Recovered> {
    clearTimeout(this.#timer);
    // The snapshot itself ended the interpreter that read it: whoever waits for that is told.
    if (this.#isRestoring) return { run: undefined, notes: [] };
    if (diedWhen === "in a run") await this.#taking;
    else this.#discardTaking();
    const { run, data, skipped } = this.#kept;
    const isLate = this.#isStale;
    if (data === undefined && isLate) return this.#giveUp(`Its variables were not kept: ${this.#reason}.`);
    this.#isRestoring = true;
    try {
      const failed = data ? await this.#kernel.restore(data, restoreTimeoutMs) : [];
      this.#isStale = false;
      const missing = [...skipped, ...failed];
      const later = isLate ? [`Later changes were not kept: ${this.#reason}.`] : [];
      return { run, notes: [cameBack(this.#kept), ...later, ...(missing.length > 0 ? [didNot(missing)] : [])] };
    } catch (error) {
      return this.#giveUp(`The snapshot of its variables could not be read: ${messageOf(error)}.`);
    } finally {
      this.#isRestoring = false;
    }
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  get #latestRun(): number {
    return this.#kernel.nextRunId - 1;
  }

  get #reason(): string {
    return this.#problem ?? "the runs followed each other too closely to take a snapshot";
  }

  #giveUp(note: string): Recovered {
    this.#kept = { run: this.#latestRun, skipped: [] };
    this.#isStale = false;
    return { run: undefined, notes: [note] };
  }

  /** One under way ended the interpreter, or comes from the fresh one. */
  #discardTaking(): void {
    if (this.#taking === undefined) return;
    this.#age++;
    this.#isStale = true;
  }

  #take(): void {
    const isBusy = this.#taking !== undefined || this.#isRestoring;
    // Behind another request it might be taken of the fresh interpreter that follows that request's crash.
    if (isBusy || !this.#kernel.isAlive || !this.#kernel.isIdle || performance.now() < this.#restUntil) return;
    this.#isStale = false;
    this.#taking = this.#keep(this.#latestRun).finally(() => {
      this.#taking = undefined;
    });
  }

  async #keep(run: number): Promise<void> {
    const started = performance.now();
    const age = this.#age;
    try {
      const data = await this.#kernel.snapshot({ maxBytes, maxItems, timeoutMs, graceMs });
      if (age !== this.#age) return;
      this.#kept = { run, data, skipped: readManifest(data).skipped };
      this.#keptAt = performance.now();
      this.#costMs = this.#keptAt - started;
      this.#problem = undefined;
      if (this.#costMs >= slowMs) this.#rest("the last snapshot was slow, so the next one was delayed");
    } catch (error) {
      // Too large, or code of the values failed: what was kept before stays, under its own run.
      this.#isStale = true;
      this.#rest(messageOf(error));
    }
  }

  #rest(problem: string): void {
    this.#problem = problem;
    this.#restUntil = performance.now() + restMs;
  }
}

function cameBack({ run, data }: Kept): string {
  return data === undefined
    ? "There were no earlier variables to restore; files were not restored."
    : `Its variables are as they were after run ${run}, restored from a snapshot; files were not restored.`;
}

function didNot(missing: readonly { name: string; reason: string }[]): string {
  const named = missing.slice(0, maxNamesTold).map(({ name, reason }) => `${name} (${reason})`);
  const more = missing.length > named.length ? ` and ${missing.length - named.length} more` : "";
  return `Not restored: ${named.join("; ")}${more}.`;
}
