import type { ServerResponse } from "node:http";

/** Server-sent events to one client. Waits for the client, so one that stops reading uses the memory of one event. */
export class EventStream implements Disposable {
  readonly #response: ServerResponse;
  readonly #stallMs: number;
  readonly #heartbeat: NodeJS.Timeout;
  #isBlocked = false;

  constructor(response: ServerResponse, options: { heartbeatMs: number; stallMs: number }) {
    this.#response = response;
    this.#stallMs = options.stallMs;
    response.writeHead(200, {
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-store, no-transform",
      "x-content-type-options": "nosniff",
      "x-accel-buffering": "no", // a proxy that buffers the stream would deliver it all at the end
    });
    response.flushHeaders();
    this.#heartbeat = setInterval(() => {
      if (!this.#isBlocked) response.write(": alive\n\n");
    }, options.heartbeatMs);
  }

  /** JSON has no line breaks, so a program's output cannot inject a field. */
  async send(event: string, data: object, id?: number): Promise<void> {
    const head = id === undefined ? "" : `id: ${id}\n`;
    this.#isBlocked = true;
    try {
      await writeAll(this.#response, `${head}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`, this.#stallMs);
    } finally {
      this.#isBlocked = false;
    }
  }

  [Symbol.dispose](): void {
    clearInterval(this.#heartbeat);
  }
}

/** Writes and waits until the buffer has room. Disconnects a client that stalls; returns false if it is disconnected. */
export async function writeAll(
  response: ServerResponse,
  chunk: string | Uint8Array,
  stallMs: number,
): Promise<boolean> {
  if (response.destroyed) return false;
  if (response.write(chunk)) return true;
  await new Promise<void>((resolve) => {
    const timer = setTimeout(() => response.destroy(), stallMs);
    const done = () => {
      clearTimeout(timer);
      response.off("drain", done);
      response.off("close", done);
      resolve();
    };
    response.once("drain", done);
    response.once("close", done);
  });
  return !response.destroyed;
}
