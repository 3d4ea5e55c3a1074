/** What the host asks of the interpreter, one at a time. */
export interface Request {
  readonly kind: "start" | "run" | "vars" | "get" | "set" | "reset";
  /** 0 for `start`, which has none */
  readonly id: number;
  readonly header: Readonly<Record<string, unknown>>;
  readonly body: Uint8Array | undefined;
  readonly timeoutMs: number;
}

const requestTimeoutMs = 30_000;

/** Reads a host message; undefined for kinds that are no request. The body is copied: the frame's bytes are reused. */
export function requestOf(header: Readonly<Record<string, unknown>>, body: Uint8Array): Request | undefined {
  const { t: kind, id, timeoutMs } = header;
  if (kind !== "start" && kind !== "run" && kind !== "vars" && kind !== "get" && kind !== "reset") return undefined;
  return {
    kind,
    id: typeof id === "number" ? id : 0,
    header,
    body: body.length > 0 ? new Uint8Array(body) : undefined,
    timeoutMs: typeof timeoutMs === "number" ? timeoutMs : requestTimeoutMs,
  };
}

/** How much of a bulk transfer may be on its way. */
const windowBytes = 4 * 1024 * 1024;

/** Gathers the `data` frames that follow a `set`. The host sends only what it has credit for. */
export class IncomingValue {
  readonly #header: Readonly<Record<string, unknown>>;
  readonly #bytes: Uint8Array;
  #filled = 0;

  constructor(header: Readonly<Record<string, unknown>>) {
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
    const id = typeof this.#header.id === "number" ? this.#header.id : 0;
    const body = this.#bytes.length > 0 ? this.#bytes : undefined;
    return { kind: "set", id, header: this.#header, body, timeoutMs: requestTimeoutMs };
  }
}

export function sizeOf(header: Readonly<Record<string, unknown>>): number {
  return typeof header.size === "number" ? header.size : 0;
}
