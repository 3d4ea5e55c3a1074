/** A small body needs no memory of the budget: as many as there may be requests are harmless. */
export const freeBytes = 64 * 1024;

/**
 * Memory for the bodies of requests and responses. The attacks: a client sends most of a large body on each of its connections, and
 * then nothing; or it asks for a large value on each of them, and reads nothing.
 */
export class BodyMemory {
  readonly #limitBytes: number;
  readonly #shared: BodyMemory | undefined;
  readonly #waiting: Set<() => void>;
  #usedBytes = 0;

  /** `shared`: the memory of all callers, of which this one is a part. */
  constructor(limitBytes: number, shared?: BodyMemory) {
    this.#limitBytes = limitBytes;
    this.#shared = shared;
    this.#waiting = shared ? shared.#waiting : new Set();
  }

  get usedBytes(): number {
    return this.#usedBytes;
  }

  /** The memory of one request. Dispose it when the request and its response are over. */
  lease(): MemoryLease {
    return new MemoryLease(this);
  }

  reserve(bytes: number): boolean {
    if (this.#usedBytes + bytes > this.#limitBytes || this.#shared?.reserve(bytes) === false) return false;
    this.#usedBytes += bytes;
    return true;
  }

  /** Reserves as soon as there is room, at most the whole limit. Returns what was reserved: nothing if the signal aborts first. */
  async reserveWhenFree(wantedBytes: number, signal: AbortSignal): Promise<number> {
    const bytes = Math.min(wantedBytes, this.#limitBytes);
    while (!signal.aborted) {
      if (this.reserve(bytes)) return bytes;
      await this.#released(signal);
    }
    return 0;
  }

  release(bytes: number): void {
    this.#usedBytes -= bytes;
    if (this.#shared) this.#shared.release(bytes);
    else for (const wake of this.#waiting) wake();
  }

  #released(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        this.#waiting.delete(wake);
        signal.removeEventListener("abort", wake);
        resolve();
      };
      this.#waiting.add(wake);
      signal.addEventListener("abort", wake, { once: true });
    });
  }
}

/** What one request has reserved. */
export class MemoryLease implements Disposable {
  readonly #memory: BodyMemory;
  #bytes = 0;

  constructor(memory: BodyMemory) {
    this.#memory = memory;
  }

  reserve(bytes: number): boolean {
    if (!this.#memory.reserve(bytes)) return false;
    this.#bytes += bytes;
    return true;
  }

  /** Reserves as soon as there is room. Returns what was reserved: nothing if the signal aborts first. */
  async reserveWhenFree(bytes: number, signal: AbortSignal): Promise<number> {
    const reserved = await this.#memory.reserveWhenFree(bytes, signal);
    this.#bytes += reserved;
    return reserved;
  }

  /**
   * Waits until this much is reserved. A client that stops reading is disconnected after a while, which makes room. Gives back what
   * it has first: requests that wait with memory in their hands could wait for each other forever.
   */
  async holdWhenFree(bytes: number, signal: AbortSignal): Promise<void> {
    if (this.#bytes >= bytes) return;
    this.release(this.#bytes);
    this.#bytes = await this.#memory.reserveWhenFree(bytes, signal);
  }

  release(bytes: number): void {
    this.#bytes -= bytes;
    this.#memory.release(bytes);
  }

  [Symbol.dispose](): void {
    this.release(this.#bytes);
  }
}
