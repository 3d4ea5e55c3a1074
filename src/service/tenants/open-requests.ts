interface OpenRequest {
  readonly secret: string;
  readonly end: () => void;
}

/** Requests that one tenant has open, each with the digest of the secret it came with. */
export class OpenRequests {
  readonly #open = new Set<OpenRequest>();

  get size(): number {
    return this.#open.size;
  }

  /** Counts a request until the answer is disposed; `end` breaks its connection. */
  enter(secret: string, end: () => void): Disposable {
    const request = { secret, end };
    this.#open.add(request);
    return { [Symbol.dispose]: () => void this.#open.delete(request) };
  }

  /** The attack: a stolen secret that was rotated keeps watching through requests it opened before. */
  endOthers(secret: string): void {
    for (const request of this.#open) if (request.secret !== secret) request.end();
  }
}
