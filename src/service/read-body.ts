import type { IncomingMessage } from "node:http";

/** A small body needs no memory of the budget: as many as there may be requests are harmless. */
const freeBytes = 64 * 1024;

/**
 * Memory for bodies that have not arrived completely. The attack: a client sends most of a large body on each of its connections,
 * and then nothing.
 */
export class BodyMemory {
  readonly #limitBytes: number;
  readonly #shared: BodyMemory | undefined;
  #usedBytes = 0;

  /** `shared`: the memory of all callers, of which this one is a part. */
  constructor(limitBytes: number, shared?: BodyMemory) {
    this.#limitBytes = limitBytes;
    this.#shared = shared;
  }

  reserve(bytes: number): boolean {
    if (this.#usedBytes + bytes > this.#limitBytes || this.#shared?.reserve(bytes) === false) return false;
    this.#usedBytes += bytes;
    return true;
  }

  release(bytes: number): void {
    this.#usedBytes -= bytes;
    this.#shared?.release(bytes);
  }
}

/** `too_large`: over the limit of a body. `busy`: no memory for it now. `gone`: the client disconnected. */
export type ReadBody = { readonly body: Buffer } | { readonly refused: "too_large" | "busy" | "gone" };

/**
 * Reads a body. One that is refused is paused, and the caller handles the rest of it. Uses events because every run reads a body, and
 * an async iterator is several times slower.
 */
export function readBody(
  request: IncomingMessage,
  { maxBytes, memory }: { readonly maxBytes: number; readonly memory?: BodyMemory | undefined },
): Promise<ReadBody> {
  return new Promise((resolve) => {
    if (request.destroyed) return resolve({ refused: "gone" });
    if (Number(request.headers["content-length"] ?? 0) > maxBytes) return resolve({ refused: "too_large" });
    const chunks: Buffer[] = [];
    let [size, reserved] = [0, 0];
    const settle = (result: ReadBody) => {
      request.off("data", take).off("end", end).off("close", gone).off("error", gone);
      memory?.release(reserved);
      resolve(result);
    };
    const refuse = (refused: "too_large" | "busy") => {
      chunks.length = 0;
      request.pause();
      settle({ refused });
    };
    const take = (chunk: Buffer) => {
      size += chunk.byteLength;
      if (size > maxBytes) return refuse("too_large");
      const wanted = Math.max(0, size - freeBytes) - reserved;
      if (memory && wanted > 0) {
        if (!memory.reserve(wanted)) return refuse("busy");
        reserved += wanted;
      }
      chunks.push(chunk);
    };
    const end = () => settle({ body: chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks) });
    const gone = () => settle({ refused: "gone" });
    request.on("data", take).on("end", end).on("close", gone).on("error", gone);
  });
}
