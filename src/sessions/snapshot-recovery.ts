import type { KernelClient } from "../kernel/client.ts";
import { messageOf } from "../lib/errors.ts";
import { readManifest } from "./snapshot-manifest.ts";

const maxBytes = 32 * 1024 * 1024;
/** Items in containers: more would take too long to make bytes of, and nothing can interrupt that. */
const maxItems = 200_000;
/** Long, because a snapshot that is cut short by force costs the very state that it was to keep. */
const timeoutMs = 30_000;
const idleMs = 30;
/** A snapshot up to this cost is made before a run as well, when there was no idle time for it. */
const unnoticedMs = 3;
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
  #isStale = false;
  #costMs = 0;
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
    this.#timer = setTimeout(() => this.#take(), idleMs).unref();
  }

  /** The interpreter is fresh: there is nothing to keep, and nothing older is to come back. */
  begunAnew(): void {
    this.stop();
    this.#kept = { run: this.#latestRun, skipped: [] };
    this.#isStale = false;
    this.#restUntil = 0;
  }

  /** The first snapshot is worth waiting for, and so is one that costs next to nothing. */
  beforeRun(): void {
    clearTimeout(this.#timer);
    if (this.#isStale && (this.#kept.data === undefined || this.#costMs < unnoticedMs)) this.#take();
  }

  /** Puts the variables back into the interpreter that took the lost one's place. */
  async recover(): Promise<Recovered> {
    clearTimeout(this.#timer);
    // The snapshot itself ended the interpreter that read it: whoever waits for that is told.
    if (this.#isRestoring) return { run: undefined, notes: [] };
    if (this.#taking) await this.#taking;
    const { run, data, skipped } = this.#kept;
    this.#isRestoring = true;
    try {
      const failed = data ? await this.#kernel.restore(data, timeoutMs) : [];
      this.#isStale = false;
      const missing = [...skipped, ...failed];
      return { run, notes: [cameBack(this.#kept), ...(missing.length > 0 ? [didNot(missing)] : [])] };
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

  #giveUp(note: string): Recovered {
    this.#kept = { run: this.#latestRun, skipped: [] };
    this.#isStale = false;
    return { run: undefined, notes: [note] };
  }

  #take(): void {
    if (this.#taking || this.#isRestoring || !this.#kernel.isAlive || performance.now() < this.#restUntil) return;
    this.#isStale = false;
    this.#taking = this.#keep(this.#latestRun).finally(() => {
      this.#taking = undefined;
    });
  }

  async #keep(run: number): Promise<void> {
    const started = performance.now();
    try {
      const data = await this.#kernel.snapshot({ maxBytes, maxItems, timeoutMs });
      this.#kept = { run, data, skipped: readManifest(data).skipped };
      this.#costMs = performance.now() - started;
      if (this.#costMs >= slowMs) this.#rest();
    } catch {
      // Too large, or code of the values failed: what was kept before stays, under its own run.
      this.#isStale = true;
      this.#rest();
    }
  }

  #rest(): void {
    this.#restUntil = performance.now() + restMs;
  }
}

function cameBack({ run, data }: Kept): string {
  return data === undefined
    ? "There were no variables before this to bring back."
    : `Its variables came back as they were after run ${run}, from a snapshot; files did not.`;
}

function didNot(missing: readonly { name: string; reason: string }[]): string {
  const named = missing.slice(0, maxNamesTold).map(({ name, reason }) => `${name} (${reason})`);
  const more = missing.length > named.length ? ` and ${missing.length - named.length} more` : "";
  return `Did not come back: ${named.join("; ")}${more}.`;
}
