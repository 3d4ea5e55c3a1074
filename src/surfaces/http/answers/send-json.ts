import type { IncomingMessage, ServerResponse } from "node:http";
import { loopTurns } from "../../../lib/waiting/loop-turns.ts";
import { freeBytes } from "../../../service/body-memory.ts";
import type { ErrorReply } from "./error-status.ts";
import { type SendLimits, sendBody } from "./send-body.ts";

export const jsonType = "application/json; charset=utf-8";

export function bytesHeaders(contentType: string): Record<string, string> {
  return { "content-type": contentType, "cache-control": "no-store", "x-content-type-options": "nosniff" };
}

const jsonHeaders = bytesHeaders(jsonType);

/** How much of a rejected body is still read, so that the client can read the response. */
const lingerBytes = 64 * 1024 * 1024;
const lingerMs = 2_000;

/** Sends a small response at once, and a large one at the speed of the client. */
export async function sendJson(
  request: IncomingMessage,
  response: ServerResponse,
  { status, json, headers = {} }: { status: number; json: object; headers?: Readonly<Record<string, string>> },
  limits?: SendLimits,
): Promise<void> {
  // As a string, because Node sends it in one write with the headers. A buffer would need a second write.
  const body = JSON.stringify(json);
  if (limits && body.length > freeBytes) {
    const bytes = Buffer.from(body);
    await limits.memory?.holdWhenFree(bytes.byteLength - freeBytes, limits.gone());
    return sendBody(request, response, { status, headers: { ...jsonHeaders, ...headers }, parts: [bytes] }, limits);
  }
  response.writeHead(status, { ...jsonHeaders, "content-length": Buffer.byteLength(body), ...headers });
  response.end(request.method === "HEAD" ? undefined : body);
}

/** Sends an error, even to a client that is still sending. */
export function sendRefusal(
  request: IncomingMessage,
  response: ServerResponse,
  { status, headers, body }: ErrorReply,
): Promise<void> {
  return sendEarly(request, response, { status, json: body, headers });
}

/**
 * Sends a response, even to a client that is still sending. Closing a connection with unread bytes resets it, and the client
 * would see the reset instead of the response. So send the response first, then read and drop a limited part of the body.
 */
export async function sendEarly(
  request: IncomingMessage,
  response: ServerResponse,
  reply: { status: number; json: object; headers?: Readonly<Record<string, string>> },
): Promise<void> {
  const isReceived = request.complete || (!request.headers["content-length"] && !request.headers["transfer-encoding"]);
  if (isReceived) return sendJson(request, response, reply);
  const { status, headers } = reply;
  const body = Buffer.from(JSON.stringify(reply.json));
  response.writeHead(status, { ...jsonHeaders, "content-length": body.byteLength, ...headers, connection: "close" });
  response.write(body);
  await dropBody(request);
  response.end();
}

/** All bodies that are dropped share the turns of the event loop: many of them must not slow down other clients. */
export function dropBody(request: IncomingMessage): Promise<void> {
  return new Promise((resolve) => {
    let left = lingerBytes;
    let isDone = false;
    const timer = setTimeout(done, lingerMs);
    function done() {
      isDone = true;
      clearTimeout(timer);
      request.off("data", count);
      resolve();
    }
    function count(chunk: Buffer) {
      left -= chunk.byteLength;
      if (left <= 0) return done();
      request.pause();
      void loopTurns.next().then(() => {
        if (!isDone) request.resume();
      });
    }
    request.on("data", count);
    request.once("end", done);
    request.once("close", done);
    request.once("error", done);
    request.resume();
  });
}
