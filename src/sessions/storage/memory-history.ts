import type { RecordedOutputs } from "../runs/recorded-outputs.ts";
import type { HistoryEntry } from "./session-history.ts";

/** What a session in memory may hold of its past: a service has many sessions. */
const limits = { bytes: 4 * 1024 * 1024, runs: 1_000 };

/** The history of a session that is not kept on disk. It ends with the session. */
export class MemoryHistory {
  readonly #runs: {
    readonly entry: HistoryEntry;
    readonly outputs: RecordedOutputs | undefined;
    readonly bytes: number;
  }[] = [];
  readonly #limits: typeof limits;
  #bytes = 0;

  constructor(maxima = limits) {
    this.#limits = maxima;
  }

  /** `outputBytes`: the size of the outputs. The oldest runs go when there are too many. */
  append(entry: HistoryEntry, outputs: RecordedOutputs | undefined, outputBytes: number): void {
    const bytes = entry.code.length + outputBytes;
    this.#runs.push({ entry, outputs, bytes });
    this.#bytes += bytes;
    while (this.#runs.length > this.#limits.runs || this.#bytes > this.#limits.bytes) {
      this.#bytes -= this.#runs.shift()?.bytes ?? 0;
    }
  }

  /** The latest runs, oldest first. */
  list(limit: number, withOutputs: boolean): HistoryEntry[] {
    return this.#runs.slice(-limit).map(({ entry, outputs }) => {
      if (!withOutputs) return entry;
      return { ...entry, outputs: outputs ?? { events: [], value: undefined, error: undefined, leftOutBytes: 0 } };
    });
  }
}
