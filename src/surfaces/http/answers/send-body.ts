import type { IncomingMessage, ServerResponse } from "node:http";
import { freeBytes, type MemoryLease } from "../../../service/body-memory.ts";
import { HttpError } from "./error-status.ts";
import { writeAll } from "./sse.ts";

const sliceBytes = 64 * 1024;

/** What limits a response: its memory, and how long its client may stop reading. */
export interface SendLimits {
  /** undefined: a route without a caller, whose responses are small */
  readonly memory: MemoryLease | undefined;
  readonly stallMs: number;
  /** aborted when the client disconnects */
  readonly gone: () => AbortSignal;
}

/**
 * Sends bytes at the speed of the client, and returns when it has them. Until then the request counts as open, so a client that
 * reads nothing reaches the limits of its token.
 */
export async function sendBody(
  request: IncomingMessage,
  response: ServerResponse,
  { headers, parts, status = 200 }: { headers: Record<string, string>; parts: readonly Uint8Array[]; status?: number },
  { stallMs }: SendLimits,
): Promise<void> {
  const size = parts.reduce((sum, { byteLength }) => sum + byteLength, 0);
  response.writeHead(status, { ...headers, "content-length": String(size) });
  if (request.method !== "HEAD") {
    for (const part of parts) {
      for (let at = 0; at < part.byteLength; at += sliceBytes) {
        if (!(await writeAll(response, part.subarray(at, at + sliceBytes), stallMs))) return;
      }
    }
  }
  response.end();
}

/** Reserves memory for each part of a value as it arrives, and throws if there is none. The first part is free. */
export function reserveParts(memory: MemoryLease | undefined): (bytes: number) => void {
  let [size, reserved] = [0, 0];
  return (bytes) => {
    size += bytes;
    const wanted = Math.max(0, size - freeBytes) - reserved;
    if (!memory || wanted <= 0) return;
    if (!memory.reserve(wanted)) throw noMemory();
    reserved += wanted;
  };
}

export function noMemory(): HttpError {
  return new HttpError("busy", "too many large bodies are being sent at the same time", {
    status: 429,
    hint: "send or request one after the other",
  });
}
