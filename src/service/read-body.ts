import type { IncomingMessage } from "node:http";
import { freeBytes, type MemoryLease } from "./body-memory.ts";

/** `too_large`: over the limit of a body. `busy`: no memory for it now. `gone`: the client disconnected. */
export type ReadBody = { readonly body: Buffer } | { readonly refused: "too_large" | "busy" | "gone" };

/**
 * Reads a body. Its memory stays reserved for as long as its owner keeps the lease. One that is refused is paused, and the caller handles the rest of it. Uses events because every run reads a body, and
 * an async iterator is several times slower.
 */
export function readBody(
  request: IncomingMessage,
  { maxBytes, memory }: { readonly maxBytes: number; readonly memory?: MemoryLease | undefined },
): Promise<ReadBody> {
  return new Promise((resolve) => {
    if (request.destroyed) return resolve({ refused: "gone" });
    if (Number(request.headers["content-length"] ?? 0) > maxBytes) return resolve({ refused: "too_large" });
    const chunks: Buffer[] = [];
    let [size, reserved] = [0, 0];
    const settle = (result: ReadBody) => {
      request.off("data", take).off("end", end).off("close", gone).off("error", gone);
      if (!("body" in result)) memory?.release(reserved);
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
