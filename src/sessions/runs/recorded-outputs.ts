import type { RunError, RunEvent, RunResult } from "./run.ts";

/** What a run printed, displayed and returned, as far as its history keeps it. Everything in it is untrusted. */
export interface RecordedOutputs {
  /** in the order in which they came */
  readonly events: readonly RunEvent[];
  /** repr of the last expression's value */
  readonly value: string | undefined;
  readonly error: RunError | undefined;
  /** how much is missing here that the run's result had, in bytes; 0: nothing */
  readonly leftOutBytes: number;
}

/** Counted for each event besides its text or bytes. */
const eventBytes = 100;
/** The cell sends the value and the traceback: a longer one is truncated. */
const maxTextCharacters = 64 * 1024;

/** Keeps the beginning of what a run prints and displays. It holds what others hold too: no text or picture is copied. */
export class OutputRecorder {
  readonly #maxBytes: number;
  readonly #events: RunEvent[] = [];
  #bytes = 0;
  #leftOutBytes = 0;
  #isTextFull = false;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** The approximate memory of what is kept, in bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  add(event: RunEvent): void {
    const room = this.#maxBytes - this.#bytes - eventBytes;
    if (event.type === "display") {
      const { type, display, mime, data } = event;
      if (data.byteLength > room) this.#leftOutBytes += data.byteLength;
      else this.#keep({ type, display, mime, data }, data.byteLength);
      return;
    }
    const { type, text } = event;
    const kept = this.#isTextFull ? "" : text.slice(0, Math.max(0, room));
    if (kept.length < text.length) {
      // From here on, no text is kept: nobody takes the pieces that still fit for all of it.
      this.#isTextFull = true;
      this.#leftOutBytes += text.length - kept.length;
    }
    if (kept !== "") this.#keep({ type, text: kept }, kept.length);
  }

  /** Undefined: the run printed, displayed and returned nothing. */
  recorded({ value, error }: Pick<RunResult, "value" | "error">): RecordedOutputs | undefined {
    if (this.#events.length === 0 && this.#leftOutBytes === 0 && value === undefined && error === undefined)
      return undefined;
    return {
      events: this.#events,
      value: value === undefined ? undefined : shortened(value),
      error: error && { ...error, message: shortened(error.message), traceback: shortened(error.traceback) },
      leftOutBytes: this.#leftOutBytes,
    };
  }

  #keep(event: RunEvent, bytes: number): void {
    this.#events.push(event);
    this.#bytes += bytes + eventBytes;
  }
}

function shortened(text: string): string {
  return text.length > maxTextCharacters ? `${text.slice(0, maxTextCharacters)}…` : text;
}
