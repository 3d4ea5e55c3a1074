import { PassThrough } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import { PasteSplitter, type TypedPart } from "./paste-splitter.ts";

/**
 * A terminal's input on its way to the line editor, which knows neither pastes nor a search: `take` gets each part first and returns
 * the keys that are for the editor.
 */
export class EditorInput extends PassThrough implements Disposable {
  readonly isTTY = true;
  readonly #source: NodeJS.ReadStream;
  readonly #take: (part: TypedPart) => string;
  readonly #decoder = new StringDecoder("utf8");
  readonly #splitter = new PasteSplitter();
  readonly #onData = (bytes: Buffer) => this.#receive(this.#decoder.write(bytes));
  readonly #onEnd = () => this.end();
  /** A terminal that was closed refuses everything, also to be set back. */
  readonly #onError = () => this.end();
  #work: Promise<void> = Promise.resolve();

  constructor(source: NodeJS.ReadStream, take: (part: TypedPart) => string) {
    super();
    this.#source = source;
    this.#take = take;
    source.on("data", this.#onData);
    source.on("end", this.#onEnd);
    source.on("error", this.#onError);
  }

  setRawMode(mode: boolean): this {
    this.#source.setRawMode(mode);
    return this;
  }

  /** Leaves the terminal's input to others; the process may exit. */
  [Symbol.dispose](): void {
    this.#source.off("data", this.#onData);
    this.#source.off("end", this.#onEnd);
    // It keeps listening for errors: the terminal may be gone when the process ends.
    this.#source.pause();
  }

  /** One part after the other: the editor has to have handled the keys before a paste or a search looks at its line. */
  #receive(text: string): void {
    for (const part of this.#splitter.push(text).flatMap(steps)) {
      this.#work = this.#work.then(async () => {
        const keys = this.#take(part);
        if (keys !== "" && !this.writableEnded) this.write(keys);
        await new Promise((resolve) => setImmediate(resolve));
      });
    }
  }
}

/** Keys up to each Tab, and from each Ctrl-R: the editor completes only at the end of what arrives together. */
function steps(part: TypedPart): TypedPart[] {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: Ctrl-R
  return "paste" in part ? [part] : part.keys.split(/(?<=\t)|(?=\u0012)/).map((keys) => ({ keys }));
}
