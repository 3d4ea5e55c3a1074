import { CodecellError } from "../../lib/errors.ts";
import { AppendedInput } from "./appended-input.ts";

/** Standard input of a run that starts first, and gets its input from a later call. */
export class LateStdin implements AsyncIterable<Uint8Array> {
  /** bytes that the run has taken */
  size = 0;
  /** whether the run has taken the input to its end */
  isComplete = false;
  #isProvided = false;
  #appended: AppendedInput | undefined;
  #provide: (source: AsyncIterable<Uint8Array>) => void = () => {};
  readonly #source: Promise<AsyncIterable<Uint8Array>>;
  #finish: () => void = () => {};
  readonly #finished: Promise<void>;

  constructor() {
    this.#source = new Promise((resolve) => {
      this.#provide = resolve;
    });
    this.#finished = new Promise((resolve) => {
      this.#finish = resolve;
    });
  }

  /** Bytes that were appended and that the run has not taken. */
  get waitingBytes(): number {
    return this.#appended?.waitingBytes ?? 0;
  }

  /** Adds a piece to the input. The run waits for more until the last one. */
  append(piece: Uint8Array, isLast: boolean): void {
    if (!this.#appended) {
      const appended = new AppendedInput();
      void this.provide(appended);
      this.#appended = appended;
    }
    this.#appended.add(piece, isLast);
  }

  /** Gives the run its input, once. Settles when the run has taken it all, or takes no more. */
  provide(source: AsyncIterable<Uint8Array>): Promise<void> {
    if (this.#isProvided) throw new CodecellError("usage", "the run already has its stdin: it is sent in one call");
    this.#isProvided = true;
    this.#provide(source);
    return this.#finished;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    try {
      for await (const chunk of await this.#source) {
        this.size += chunk.byteLength;
        yield chunk;
      }
      this.isComplete = true;
    } finally {
      this.#finish();
    }
  }
}
