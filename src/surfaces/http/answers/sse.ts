import type { ServerResponse } from "node:http";

/** Server-sent events to one client. Waits for the client, so one that stops reading uses the memory of one piece. */
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

  send(event: string, data: object, id?: number | string): Promise<void> {
    return this.sendPieces(event, [JSON.stringify(data)], id);
  }

  /**
   * Sends JSON in pieces. Each is made when the client has taken the one before. JSON has no line breaks, so a program's output cannot
   * inject a field.
   */
  async sendPieces(event: string, pieces: Iterable<string>, id?: number | string): Promise<void> {
    let before = `${id === undefined ? "" : `id: ${id}\n`}event: ${event}\ndata: `;
    this.#isBlocked = true;
    try {
      // One write for an event of one piece: each write is a system call.
      let last: string | undefined;
      for (const piece of pieces) {
        if (last !== undefined) {
          if (!(await writeAll(this.#response, before + last, this.#stallMs))) return;
          before = "";
        }
        last = piece;
      }
      await writeAll(this.#response, `${before}${last ?? ""}\n\n`, this.#stallMs);
    } finally {
      this.#isBlocked = false;
    }
  }

  /** Tells the client where it is, without an event: it can resume from there. */
  async sendPosition(id: string): Promise<void> {
    await writeAll(this.#response, `id: ${id}\n\n`, this.#stallMs);
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
