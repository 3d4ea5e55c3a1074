import { CodecellError } from "../../lib/errors.ts";
import type { OpenResponse } from "./transport.ts";

/** One server-sent event. */
export interface ServerEvent {
  readonly type: string;
  readonly data: string;
}

export interface ServerEventsOptions {
  /** of one event */
  readonly maxBytes: number;
  /** after this time without a sign of life the connection is lost */
  readonly idleMs: number;
}

/**
 * The events of a response, which is closed at the end. Reads only as fast as its reader asks, so the service waits for a slow one. Leaving the loop closes
 * the connection. A connection that is cut looks like the end.
 */
export async function* serverEvents(opened: OpenResponse, options: ServerEventsOptions): AsyncGenerator<ServerEvent> {
  using open = opened;
  const reader = open.response.body?.getReader();
  if (!reader) return;
  const decoder = new TextDecoder();
  let unfinished: string[] = [];
  let event = { type: "message", data: [] as string[] };
  let size = 0;
  try {
    for (;;) {
      const { done, value } = await withinIdleTime(reader, options.idleMs);
      if (done) return;
      const lines = decoder.decode(value, { stream: true }).split("\n");
      size += value.byteLength;
      for (const [index, piece] of lines.entries()) {
        if (index === lines.length - 1) {
          if (piece !== "") unfinished.push(piece);
          continue;
        }
        const line = (unfinished.length === 0 ? piece : unfinished.join("") + piece).replace(/\r$/, "");
        unfinished = [];
        if (line === "") {
          if (event.data.length > 0) yield { type: event.type, data: event.data.join("\n") };
          event = { type: "message", data: [] };
          size = 0;
        } else if (line.startsWith("data:")) event.data.push(fieldValue(line, "data:"));
        else if (line.startsWith("event:")) event.type = fieldValue(line, "event:");
      }
      if (size > options.maxBytes + 1024) {
        throw new CodecellError("too_large", `an event is larger than ${options.maxBytes} bytes`, {
          hint: "raise `maxResponseBytes` of connect(), or print less",
        });
      }
    }
  } finally {
    reader.cancel().catch(() => {}); // does not wait: the connection may be stuck
  }
}

function fieldValue(line: string, name: string): string {
  const value = line.slice(name.length);
  return value.startsWith(" ") ? value.slice(1) : value;
}

async function withinIdleTime(reader: ReadableStreamDefaultReader<Uint8Array>, idleMs: number) {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const idle = new Promise<never>((_, reject) => {
    const why = `the service sent nothing for ${idleMs} ms`;
    timer = setTimeout(() => reject(new CodecellError("service_unavailable", why)), idleMs);
  });
  try {
    return await Promise.race([reader.read(), idle]);
  } finally {
    clearTimeout(timer);
  }
}
