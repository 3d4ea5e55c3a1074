import type { RecordedOutputs } from "../runs/recorded-outputs.ts";
import type { HistoryEntry } from "./session-history.ts";

/** What a session in memory may hold of its past. Small: a service has hundreds of sessions. */
const limits = { outputBytes: 512 * 1024, codeBytes: 512 * 1024, runs: 1_000 };

/** So many places at the beginning of the list may be empty. */
const mostEmpty = 256;

interface PastRun {
  readonly entry: HistoryEntry;
  outputs: RecordedOutputs | undefined;
  outputBytes: number;
}

/** The history of a session that is not kept on disk. It ends with the session. */
export class MemoryHistory {
  /** the oldest first; the places before `#first` are empty, and go together: `shift` would move all runs at each drop */
  readonly #runs: (PastRun | undefined)[] = [];
  #first = 0;
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
    while (this.#length > runs || (this.#codeBytes > codeBytes && this.#length > 1)) this.#dropOldest();
    for (let at = this.#first; this.#outputBytes > this.#limits.outputBytes; at++) {
      const run = this.#runs[at];
      if (!run) break;
      this.#forgetOutputs(run);
    }
  }

  get #length(): number {
    return this.#runs.length - this.#first;
  }

  /** The latest runs, oldest first. */
  list(limit: number, withOutputs: boolean): HistoryEntry[] {
    return this.#runs.slice(-limit).flatMap((run) => {
      if (!run) return [];
      if (!withOutputs) return run.entry;
      const outputs = run.outputs ?? { events: [], value: undefined, error: undefined, leftOutBytes: 0 };
      return { ...run.entry, outputs };
    });
  }

  #dropOldest(): void {
    const run = this.#runs[this.#first];
    this.#codeBytes -= run?.entry.code.length ?? 0;
    this.#outputBytes -= run?.outputBytes ?? 0;
    this.#runs[this.#first++] = undefined;
    if (this.#first < mostEmpty) return;
    this.#runs.splice(0, this.#first);
    this.#first = 0;
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
