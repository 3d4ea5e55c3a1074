import type { RunEvent } from "./run.ts";

type TextEvent = Extract<RunEvent, { readonly text: string }>;

const flushCharacters = 16 * 1024;
/** As long as nobody notices, who watches a program print. */
const flushMs = 20;

/** Joins small pieces of text of one stream, and emits them after a moment, or when there are enough of them. */
export class GatheredText {
  readonly #emit: (event: TextEvent) => void;
  #type: TextEvent["type"] = "stdout";
  #pieces: string[] = [];
  #characters = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(emit: (event: TextEvent) => void) {
    this.#emit = emit;
  }

  add({ type, text }: TextEvent): void {
    if (type !== this.#type) this.flush();
    this.#type = type;
    this.#pieces.push(text);
    this.#characters += text.length;
    if (this.#characters >= flushCharacters) this.flush();
    else this.#timer ??= setTimeout(() => this.flush(), flushMs);
  }

  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#pieces.length === 0) return;
    const text = this.#pieces.join("");
    this.#pieces = [];
    this.#characters = 0;
    this.#emit({ type: this.#type, text });
  }
}
