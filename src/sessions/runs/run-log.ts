import type { RunStatus } from "../../kernel/messages.ts";
import { GatheredText } from "./gathered-text.ts";
import type { OutputRecorder } from "./recorded-outputs.ts";
import type { DisplayEvent, RunEvent } from "./run.ts";

/** An event of a run, with its number: the first one is 0. */
export interface NumberedEvent {
  readonly offset: number;
  /** `end` comes last, once; a run that codecell itself failed has none, and its readers get the error */
  readonly event: RunEvent | { readonly type: "end"; readonly status: RunStatus };
}

/** Memory of an event besides its text or bytes. */
const eventBytes = 100;

/** From this number of events on, small pieces of text are joined before they become an event. */
const freeEvents = 1_000;

/** The events of one run in order, for any number of readers, each from its own offset. */
export class RunLog {
  readonly #events: NumberedEvent["event"][] = [];
  /** the attack: a program that prints single bytes, each of which would be an event that the host keeps */
  #gathered: GatheredText | undefined;
  /** created for the first reader that waits: most runs have none */
  #waiting: Set<() => void> | undefined;
  #failure: { readonly error: unknown } | undefined;
  #isClosed = false;
  #bytes = 0;
  #isForgetful = false;
  #recorder: OutputRecorder | undefined;
  #heldBytes = 0;

  /** How many events there are: the offset of the next one. */
  get length(): number {
    return this.#events.length;
  }

  /** The approximate memory of the events, in bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  /** How much the program has printed that the cell holds back: the last part of it follows at the end of the run. */
  get heldBytes(): number {
    return this.#isClosed ? 0 : this.#heldBytes;
  }

  /** @internal */
  hold(bytes: number): void {
    this.#heldBytes = bytes;
  }

  /** @internal From now on, the log drops the text and the bytes of an event as soon as a reader has it. */
  forgetWhatIsRead(): void {
    this.#isForgetful = true;
  }

  /** @internal Passes every event from now on to a recorder too, which keeps a part of them for the history. */
  record(recorder: OutputRecorder): void {
    this.#recorder = recorder;
  }

  /** @internal */
  push(event: RunEvent): void {
    if (this.#isClosed) return;
    if (event.type !== "display" && this.#events.length >= freeEvents) {
      this.#gathered ??= new GatheredText((gathered) => this.#add(gathered));
      this.#gathered.add(event);
      return;
    }
    this.#gathered?.flush();
    this.#add(event);
  }

  #add(event: RunEvent): void {
    this.#bytes += eventBytes + (event.type === "display" ? event.data.byteLength : event.text.length * 2);
    this.#events.push(event);
    this.#recorder?.add(event);
    this.#wake();
  }

  /** @internal */
  end(status: RunStatus): void {
    this.#gathered?.flush();
    this.#events.push({ type: "end", status });
    this.#isClosed = true;
    this.#wake();
  }

  /** @internal */
  fail(error: unknown): void {
    this.#gathered?.flush();
    this.#failure = { error };
    this.#isClosed = true;
    this.#wake();
  }

  /** Everything printed so far. `+=` shares the memory of the pieces; `join` would copy them. */
  text(stream: "stdout" | "stderr"): string {
    this.#gathered?.flush();
    let text = "";
    for (const event of this.#events) if (event.type === stream) text += event.text;
    return text;
  }

  displays(): DisplayEvent[] {
    return this.#events.filter((event): event is DisplayEvent => event.type === "display");
  }

  /** Events from an offset on, to the end of the run or until the reader's signal aborts. */
  async *from(start: number, signal?: AbortSignal): AsyncGenerator<NumberedEvent> {
    for (let offset = start; !signal?.aborted; ) {
      const event = this.#events[offset];
      if (event) {
        if (this.#isForgetful) this.#forget(offset, event);
        yield { offset: offset++, event };
      } else if (this.#failure) throw this.#failure.error;
      else if (this.#isClosed) return;
      else await this.#change(signal);
    }
  }

  #forget(offset: number, event: NumberedEvent["event"]): void {
    if (event.type === "display") this.#events[offset] = { ...event, data: new Uint8Array(0) };
    else if (event.type !== "end") this.#events[offset] = { type: event.type, text: "" };
  }

  async #change(signal: AbortSignal | undefined): Promise<void> {
    let wake = () => {};
    const changed = new Promise<void>((resolve) => {
      wake = resolve;
    });
    this.#waiting ??= new Set();
    this.#waiting.add(wake);
    signal?.addEventListener("abort", wake, { once: true });
    try {
      await changed;
    } finally {
      // A reader that left is removed at once, not at the next event.
      this.#waiting.delete(wake);
      signal?.removeEventListener("abort", wake);
    }
  }

  #wake(): void {
    if (this.#waiting) for (const wake of this.#waiting) wake();
  }
}
