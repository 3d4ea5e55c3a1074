import { type Request, wholeRequest } from "./requests.ts";

type Header = Readonly<Record<string, unknown>>;

/** Values that are being received. Each keeps its place in the queue, so later requests run after it. */
export class IncomingValues {
  readonly #values = new Map<number, IncomingValue>();
  readonly #maxBytes: number;
  readonly #send: (message: object) => void;
  readonly #onComplete: () => void;

  constructor(maxBytes: number, send: (message: object) => void, onComplete: () => void) {
    this.#maxBytes = maxBytes;
    this.#send = send;
    this.#onComplete = onComplete;
  }

  /** Undefined if the value is refused. */
  begin(id: number, header: Header): IncomingValue | undefined {
    if (sizeOf(header) > this.#maxBytes) {
      const message = "the value is larger than the memory of the cell";
      this.#send({ t: "reply", id, ok: false, code: "too_large", message });
      return undefined;
    }
    const value = new IncomingValue(header);
    if (!value.isComplete) {
      this.#values.set(id, value);
      this.#send({ t: "credit", id, bytes: value.firstCredit });
    }
    return value;
  }

  add(id: number, bytes: Uint8Array): void {
    const value = this.#values.get(id);
    if (value === undefined) return;
    value.add(bytes);
    if (!value.isComplete) {
      this.#send({ t: "credit", id, bytes: bytes.length });
      return;
    }
    this.#values.delete(id);
    this.#onComplete();
  }
}

/** Flow-control window of a bulk transfer. */
const windowBytes = 4 * 1024 * 1024;

/** Collects the `data` frames after a transfer's first message. The host sends only as much as it has credit for. */
export class IncomingValue {
  readonly #header: Header;
  readonly #bytes: Uint8Array;
  #filled = 0;

  constructor(header: Header) {
    this.#header = header;
    this.#bytes = new Uint8Array(sizeOf(header));
  }

  get isComplete(): boolean {
    return this.#filled === this.#bytes.length;
  }

  get firstCredit(): number {
    return Math.min(this.#bytes.length, windowBytes);
  }

  add(bytes: Uint8Array): void {
    this.#bytes.set(bytes, this.#filled);
    this.#filled += bytes.length;
  }

  request(): Request {
    return wholeRequest(this.#header, this.#bytes.length > 0 ? this.#bytes : undefined);
  }
}

function sizeOf(header: Header): number {
  return typeof header.size === "number" ? header.size : 0;
}
