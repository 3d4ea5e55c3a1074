import type { IncomingMessage } from "node:http";
import { freeBytes, type MemoryLease } from "./body-memory.ts";

/** `too_large`: over the limit of a body. `busy`: no memory for it in time. `gone`: the client disconnected. */
export type ReadBody = { readonly body: Buffer } | { readonly refused: "too_large" | "busy" | "gone" };

export interface BodyLimits {
  readonly maxBytes: number;
  readonly memory?: MemoryLease | undefined;
  /** how long a large body may wait for memory */
  readonly waitMs: number;
}

/**
 * Reads a body. Its memory stays reserved for as long as its owner keeps the lease. One that is refused is paused, and the caller
 * handles the rest of it. Uses events because every run reads a body, and an async iterator is several times slower.
 *
 * A large body waits until there is memory for all of it, and is not read meanwhile: its client waits too. The attack: 64 clients of
 * one token send 15 MiB each, again and again. Reading them only to refuse them takes the time of everybody else.
 */
export function readBody(request: IncomingMessage, { maxBytes, memory, waitMs }: BodyLimits): Promise<ReadBody> {
  return new Promise((resolve) => {
    if (request.destroyed) return resolve({ refused: "gone" });
    const declared = request.headers["content-length"];
    const mostBytes = Number(declared ?? maxBytes);
    if (mostBytes > maxBytes) return resolve({ refused: "too_large" });
    const body = new Chunks();
    let wait: AbortController | undefined;
    let [isLarge, isSettled, reserved] = [false, false, 0];
    const settle = (result: ReadBody) => {
      isSettled = true;
      request.off("data", take).off("end", end).off("close", gone).off("error", gone);
      wait?.abort();
      // A body of unknown size may be smaller than what was reserved for it.
      const kept = "body" in result ? Math.min(reserved, Math.max(0, body.size - freeBytes)) : 0;
      memory?.release(reserved - kept);
      resolve(result);
    };
    const refuse = (refused: "too_large" | "busy") => {
      request.pause();
      settle({ refused });
    };
    const waitForMemory = async (lease: MemoryLease) => {
      request.pause();
      const waiting = new AbortController();
      wait = waiting;
      const timer = setTimeout(() => waiting.abort(), waitMs);
      const bytes = await lease.reserveWhenFree(mostBytes - freeBytes, waiting.signal);
      clearTimeout(timer);
      if (isSettled) return lease.release(bytes);
      reserved = bytes;
      if (bytes === 0) return refuse("busy");
      if (declared) body.expect(mostBytes);
      request.resume();
    };
    const take = (chunk: Buffer) => {
      body.add(chunk);
      if (body.size > maxBytes) return refuse("too_large");
      if (!memory || isLarge || body.size <= freeBytes) return;
      isLarge = true;
      if (!memory.reserve(mostBytes - freeBytes)) return void waitForMemory(memory);
      reserved = mostBytes - freeBytes;
      if (declared) body.expect(mostBytes);
    };
    const end = () => settle({ body: body.whole() });
    const gone = () => settle({ refused: "gone" });
    request.on("data", take).on("end", end).on("close", gone).on("error", gone);
  });
}

/** Bytes that arrive in parts. If their number is known, each part is copied as it arrives, and not all of them at the end. */
class Chunks {
  #chunks: Buffer[] = [];
  #whole: Buffer | undefined;
  size = 0;

  expect(bytes: number): void {
    const whole = Buffer.allocUnsafeSlow(bytes);
    let at = 0;
    for (const chunk of this.#chunks) at += chunk.copy(whole, at);
    this.#whole = whole;
    this.#chunks = [];
  }

  add(chunk: Buffer): void {
    if (this.#whole) chunk.copy(this.#whole, this.size);
    else this.#chunks.push(chunk);
    this.size += chunk.byteLength;
  }

  whole(): Buffer {
    if (this.#whole) return this.#whole.subarray(0, this.size);
    const [first] = this.#chunks;
    return first && this.#chunks.length === 1 ? first : Buffer.concat(this.#chunks);
  }
}
