type Header = Readonly<Record<string, unknown>>;

const maxOpen = 64;
const maxArgumentBytes = 16 * 1024 * 1024;
/** The host sends this much of its answers before it waits for credit. */
const answerWindowBytes = 1024 * 1024;

/** The calls of one run to functions of the host. User code can forge them, so they are rebuilt and bounded. */
export class OpenCalls {
  /** bytes of the arguments that are still to come */
  readonly #open = new Map<number, number>();
  readonly #answers = new Map<number, number>();
  #owedBytes = 0;

  get size(): number {
    return this.#open.size;
  }

  /** The message for the host, or undefined for a forged one. */
  begun(run: number, header: Header, body: Uint8Array): Header | undefined {
    const { call, name, size } = header;
    if (typeof call !== "number" || !Number.isSafeInteger(call) || call < 0) return undefined;
    if (name === undefined) return this.#more(run, call, body);
    if (typeof name !== "string" || name.length > 64 || this.#open.has(call) || this.#open.size >= maxOpen)
      return undefined;
    if (typeof size !== "number" || !(size >= body.length && size <= maxArgumentBytes)) return undefined;
    this.#open.set(call, size - body.length);
    return { t: "call", id: run, call, name, size };
  }

  #more(run: number, call: number, body: Uint8Array): Header | undefined {
    const missing = this.#open.get(call) ?? 0;
    if (body.length === 0 || body.length > missing) return undefined;
    this.#open.set(call, missing - body.length);
    return { t: "call", id: run, call };
  }

  /** The program no longer waits for this answer. Returns whether the call was open. */
  dropped(call: unknown): call is number {
    if (typeof call !== "number" || !this.#open.delete(call)) return false;
    this.#answers.delete(call);
    return true;
  }

  /** Notes an answer of the host, or a piece of one. */
  answered(header: Header, bodyBytes: number): void {
    const call = header.call as number;
    if (header.ok !== undefined) this.#answers.set(call, header.ok === true ? Number(header.size) : 0);
    const missing = (this.#answers.get(call) ?? 0) - bodyBytes;
    this.#answers.set(call, missing);
    if (missing > 0) return;
    this.#answers.delete(call);
    this.#open.delete(call);
  }

  /** The interpreter has taken this much. Returns the credit to grant, which is often 0. */
  taken(bytes: number): number {
    this.#owedBytes += bytes;
    if (this.#owedBytes < answerWindowBytes / 4) return 0;
    const credit = this.#owedBytes;
    this.#owedBytes = 0;
    return credit;
  }

  clear(): void {
    this.#open.clear();
    this.#answers.clear();
  }
}
