import type { RecordedOutputs } from "../runs/recorded-outputs.ts";
import type { HistoryEntry } from "./session-history.ts";

/** What a session in memory may hold of its past. Small: a service has hundreds of sessions. */
const limits = { outputBytes: 512 * 1024, codeBytes: 512 * 1024, runs: 1_000 };

interface PastRun {
  readonly entry: HistoryEntry;
  outputs: RecordedOutputs | undefined;
  outputBytes: number;
}

/** The history of a session that is not kept on disk. It ends with the session. */
export class MemoryHistory {
  readonly #runs: PastRun[] = [];
  readonly #limits: typeof limits;
  #codeBytes = 0;
  #outputBytes = 0;

  constructor(maxima = limits) {
    this.#limits = maxima;
  }

  /** `outputBytes`: the size of the outputs. The oldest outputs go first, and the oldest runs when there are too many. */
  append(entry: HistoryEntry, outputs: RecordedOutputs | undefined, outputBytes: number): void {
    this.#runs.push({ entry, outputs, outputBytes });
    this.#codeBytes += entry.code.length;
    this.#outputBytes += outputBytes;
    const { runs, codeBytes } = this.#limits;
    while (this.#runs.length > runs || (this.#codeBytes > codeBytes && this.#runs.length > 1)) this.#dropOldest();
    for (const run of this.#runs) {
      if (this.#outputBytes <= this.#limits.outputBytes) break;
      this.#forgetOutputs(run);
    }
  }

  /** The latest runs, oldest first. */
  list(limit: number, withOutputs: boolean): HistoryEntry[] {
    return this.#runs.slice(-limit).map(({ entry, outputs }) => {
      if (!withOutputs) return entry;
      return { ...entry, outputs: outputs ?? { events: [], value: undefined, error: undefined, leftOutBytes: 0 } };
    });
  }

  #dropOldest(): void {
    const run = this.#runs.shift();
    this.#codeBytes -= run?.entry.code.length ?? 0;
    this.#outputBytes -= run?.outputBytes ?? 0;
  }

  /** The run stays in the list, and says how much is missing. */
  #forgetOutputs(run: PastRun): void {
    if (run.outputBytes === 0) return;
    const leftOutBytes = (run.outputs?.leftOutBytes ?? 0) + run.outputBytes;
    run.outputs = { events: [], value: undefined, error: undefined, leftOutBytes };
    this.#outputBytes -= run.outputBytes;
    run.outputBytes = 0;
  }
}
