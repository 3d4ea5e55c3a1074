import type { KernelClient } from "../../kernel/client.ts";
import { messageOf } from "../../lib/errors.ts";
import { variablesAsAfter } from "../../lib/variables-as-after.ts";
import { restoreVariables } from "./restore-variables.ts";
import { readManifest } from "./snapshot-manifest.ts";

const maxBytes = 32 * 1024 * 1024;
/** Limit of items in containers: pickling more takes too long and cannot be interrupted. */
const maxItems = 200_000;
/** A run may wait for a snapshot, so code of values that takes longer is interrupted. */
const timeoutMs = 500;
/** Long, because killing a snapshot loses the state that it was meant to keep. */
const graceMs = 5_000;
const restoreTimeoutMs = 30_000;
const idleMs = 30;
/** Without idle time, a snapshot is taken before a run if this many times its duration has passed since the last. */
const restFactor = 20;
const slowMs = 200;
/** How long no snapshot is taken after one that was slow or failed. */
const restMs = 60_000;
const maxNamesTold = 20;

interface Kept {
  readonly run: number;
  /** absent: the interpreter was fresh */
  readonly data?: Buffer;
  readonly skipped: readonly { name: string; reason: string }[];
}

/** The result of a recovery: the run whose final state was restored, if any, and notes about it. */
export interface Recovered {
  readonly run: number | undefined;
  readonly notes: readonly string[];
}

/**
 * Keeps the variables of an interpreter that cannot leave a frozen copy of itself behind: as bytes, made inside the cell
 * in idle time, put back after the interpreter was lost. What does not pickle is named. Files come from the last save, if any.
 */
export class SnapshotRecovery {
  readonly #kernel: KernelClient;
  #kept: Kept = { run: 0, skipped: [] };
  /** counts fresh interpreters: a snapshot of one is not valid for the next */
  #age = 0;
  /** the variables may differ from the kept snapshot */
  #isStale = false;
  #problem: string | undefined;
  #costMs = 0;
  #keptAt = 0;
  #restUntil = 0;
  #taking: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isRestoring = false;
  /** puts files back that were lost with the interpreter, and says which; set for sessions that save their files */
  restoreFiles: (() => Promise<string>) | undefined;

  constructor(kernel: KernelClient) {
    this.#kernel = kernel;
  }

  /** The variables may have changed: takes a snapshot when the kernel is idle. */
  changed(): void {
    this.#isStale = true;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => (this.#kernel.isIdle ? this.#take() : this.changed()), idleMs).unref();
  }

  /** The interpreter is fresh: there is nothing to keep, and no older snapshot may be restored. */
  begunAnew(): void {
    this.stop();
    this.#age++;
    this.#kept = { run: this.#latestRun, skipped: [] };
    this.#isStale = false;
    this.#problem = undefined;
    this.#restUntil = 0;
  }

  /** Takes a snapshot before a run if there is none yet, or if it costs little for the time since the last. */
  beforeRun(): void {
    clearTimeout(this.#timer);
    const isDue = performance.now() - this.#keptAt >= restFactor * this.#costMs;
    if (this.#isStale && (this.#kept.data === undefined || isDue)) this.#take();
  }

  /** Restores the variables in the interpreter that replaced the lost one. */
  async recover(diedWhen: "in a run" | "between runs"): Promise<Recovered> {
    clearTimeout(this.#timer);
    // The snapshot killed the interpreter that read it: the call that restores it reports that.
    if (this.#isRestoring) return { run: undefined, notes: [] };
    if (diedWhen === "in a run") await this.#taking;
    else this.#discardTaking();
    const { run, data, skipped } = this.#kept;
    const isLate = this.#isStale;
    if (data === undefined && isLate) return this.#giveUp(`Its variables were not kept: ${this.#reason}.`);
    this.#isRestoring = true;
    try {
      // before the variables: what they are made of may read a file
      const files = (await this.restoreFiles?.()) ?? "files were not restored";
      const failed = data ? await restoreVariables(this.#kernel, data, restoreTimeoutMs) : [];
      this.#kernel.wentBackTo(run);
      this.#isStale = false;
      const missing = [...skipped, ...failed];
      const later = isLate ? [`Later changes were not kept: ${this.#reason}.`] : [];
      const number = this.#kernel.numbers.ofSession(run);
      return {
        run: number,
        notes: [
          cameBack(data !== undefined, number, files),
          ...later,
          ...(missing.length > 0 ? [didNot(missing)] : []),
        ],
      };
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

  /** Discards a snapshot that is being taken: it killed the interpreter, or is of the fresh one. */
  #discardTaking(): void {
    if (this.#taking === undefined) return;
    this.#age++;
    this.#isStale = true;
  }

  #take(): void {
    const isBusy = this.#taking !== undefined || this.#isRestoring;
    // Queued behind a request that crashes, it would be of the fresh interpreter.
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
      // Too large, or code of the values failed: the previous snapshot stays.
      this.#isStale = true;
      this.#rest(messageOf(error));
    }
  }

  #rest(problem: string): void {
    this.#problem = problem;
    this.#restUntil = performance.now() + restMs;
  }
}

function cameBack(hadAny: boolean, run: number, files: string): string {
  return hadAny
    ? `Then a snapshot was restored: its ${variablesAsAfter(run)}; ${files}.`
    : `There were no earlier variables to restore; ${files}.`;
}

function didNot(missing: readonly { name: string; reason: string }[]): string {
  const named = missing.slice(0, maxNamesTold).map(({ name, reason }) => `${name} (${reason})`);
  const more = missing.length > named.length ? ` and ${missing.length - named.length} more` : "";
  return `Not restored: ${named.join("; ")}${more}.`;
}
