import type { CellUsage } from "../../runners/cell-usage.ts";

/** What a cell used at one moment. */
export interface UsageSample {
  /** wall-clock milliseconds */
  readonly atMs: number;
  /** processor time since the previous sample, in percent of one processor; undefined: there is none to compare with */
  readonly cpuPercent: number | undefined;
  readonly memoryBytes: number | undefined;
}

interface Measurement {
  readonly sample: UsageSample;
  /** by the clock of `performance`, which does not jump */
  readonly at: number;
  /** the time of the first sample that this one replaces */
  readonly groupAt: number;
  readonly usage: CellUsage;
}

const limits = { samples: 120, gapMs: 500 };

/** The last samples of what one cell used, oldest first. Its forks share them, as they share the cell. */
export class UsageSamples {
  readonly #measured: Measurement[] = [];
  readonly #limits: typeof limits;
  /** before the latest sample, for its processor time */
  #before: Measurement | undefined;

  constructor(maxima = limits) {
    this.#limits = maxima;
  }

  get list(): UsageSample[] {
    return this.#measured.map(({ sample }) => sample);
  }

  get latest(): UsageSample | undefined {
    return this.#measured.at(-1)?.sample;
  }

  /** The last measurement in full; undefined: there was none. */
  get usage(): CellUsage | undefined {
    return this.#measured.at(-1)?.usage;
  }

  /** Adds a sample, or replaces one that is less than half a second old: a session may have a thousand runs per second. */
  add(usage: CellUsage, atMs = Date.now(), at = performance.now()): UsageSample {
    const last = this.#measured.at(-1);
    const isReplaced = last !== undefined && at - last.groupAt < this.#limits.gapMs;
    if (isReplaced) this.#measured.pop();
    // The first sample has none before it, so those that replace it compare with it.
    if (!isReplaced || this.#before === undefined) this.#before = last;
    const sample = { atMs, cpuPercent: cpuPercent(this.#before, usage, at), memoryBytes: usage.memoryBytes };
    this.#measured.push({ sample, at, groupAt: isReplaced ? last.groupAt : at, usage });
    if (this.#measured.length > this.#limits.samples) this.#measured.shift();
    return sample;
  }
}

function cpuPercent(before: Measurement | undefined, { cpuMs }: CellUsage, at: number): number | undefined {
  const cpuBeforeMs = before?.usage.cpuMs;
  if (before === undefined || cpuMs === undefined || cpuBeforeMs === undefined || at <= before.at) return undefined;
  const percent = ((cpuMs - cpuBeforeMs) / (at - before.at)) * 100;
  return Math.max(0, Math.round(percent * 10) / 10);
}
