interface OpenRequest {
  readonly secret: string;
  readonly end: () => void;
}

/** The open requests of one tenant, each with the digest of the secret it was sent with. */
export class OpenRequests {
  readonly #open = new Set<OpenRequest>();

  get size(): number {
    return this.#open.size;
  }

  /** Adds a request until the returned object is disposed; `end` closes its connection. */
  enter(secret: string, end: () => void): Disposable {
    const request = { secret, end };
    this.#open.add(request);
    return { [Symbol.dispose]: () => void this.#open.delete(request) };
  }

  /** Closes requests with another secret. The attack: a stolen secret keeps watching after it was rotated. */
  endOthers(secret: string): void {
    for (const request of this.#open) if (request.secret !== secret) request.end();
  }
}
