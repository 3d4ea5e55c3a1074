import { CodecellError } from "../lib/errors.ts";

/** what a list that the host encodes for a cell may have */
export const maxJsonListBytes = 256 * 2 ** 20;
/** The whole may be longer than a string can be, so it is joined in parts. */
const partCharacters = 1_000_000;

/**
 * Writes a JSON list, up to a number of bytes. The attack: a CSV of 2 MB with long column names and empty fields becomes gigabytes,
 * because each row repeats the names.
 */
export class JsonList {
  readonly #parts: Buffer[] = [];
  readonly #maxBytes: number;
  #bytes = 0;
  #pending = "[";
  #isEmpty = true;

  constructor(maxBytes = maxJsonListBytes) {
    this.#maxBytes = maxBytes;
  }

  /** Writes the beginning of the next item, or all of it. */
  item(text: string): void {
    this.more(this.#isEmpty ? text : `,${text}`);
    this.#isEmpty = false;
  }

  /** Continues the item. */
  more(text: string): void {
    // Before the text is added: one piece may be as long as all that the limit allows. A character has at least one byte.
    if (this.#bytes + this.#pending.length + text.length > this.#maxBytes) throw tooLong(this.#maxBytes);
    this.#pending += text;
    if (this.#pending.length >= partCharacters) this.#flush();
  }

  end(): Uint8Array {
    this.more("]");
    this.#flush();
    return Buffer.concat(this.#parts);
  }

  #flush(): void {
    const part = Buffer.from(this.#pending);
    this.#pending = "";
    this.#bytes += part.length;
    if (this.#bytes > this.#maxBytes) throw tooLong(this.#maxBytes);
    this.#parts.push(part);
  }
}

function tooLong(maxBytes: number): CodecellError {
  return new CodecellError(
    "too_large",
    `the file's content has more than ${maxBytes} bytes as JSON, in which it is sent`,
    {
      hint: "load it as text or bytes and parse it in the cell",
      details: { maxBytes },
    },
  );
}
